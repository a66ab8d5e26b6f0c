"""Values made once for each kernel and key."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from adreno_sim.engine.caching.kernel_memo import KernelMemo


def kernel() -> Any:
    return SimpleNamespace()  # only its identity counts


def test_a_value_is_made_once_for_a_kernel_and_a_key():
    memo: KernelMemo[object] = KernelMemo()
    one, other = kernel(), kernel()
    first = memo.get(one, 1, make=object)
    assert memo.get(one, 1, make=object) is first
    assert len({first, memo.get(one, 2, make=object), memo.get(other, 1, make=object), memo.get(one, make=object)}) == 4


def test_the_value_made_first_goes_first():
    memo: KernelMemo[str] = KernelMemo(capacity=2)
    one = kernel()
    for key in "abc":
        memo.get(one, key, make=lambda key=key: key)
    assert [memo.get(one, key, make=lambda: "again") for key in "cba"] == ["c", "b", "again"]


def test_the_kernel_lives_as_long_as_its_value():
    memo: KernelMemo[int] = KernelMemo()
    numbers = [memo.get(kernel(), make=lambda n=n: n) for n in range(50)]
    assert numbers == list(range(50))  # no kernel took the id of one that was let go


def test_who_makes_a_value_while_another_does_gets_that_one():
    memo: KernelMemo[list[int]] = KernelMemo()
    one = kernel()

    def interrupted() -> list[int]:
        memo.get(one, make=lambda: [1])
        return [2]

    assert memo.get(one, make=interrupted) == [1]
