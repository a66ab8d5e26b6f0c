"""Values made once for each kernel and key."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

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


def test_a_thread_waits_for_a_value_that_another_makes():
    memo: KernelMemo[str] = KernelMemo()
    one, begun, go_on = kernel(), threading.Event(), threading.Event()

    def slowly() -> str:
        begun.set()
        assert go_on.wait(60)
        return "of the first"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memo.get, one, make=slowly)
        assert begun.wait(60)
        second = pool.submit(memo.get, one, make=lambda: "of the second")
        assert memo.get(one, "another key", make=lambda: "at once") == "at once"
        go_on.set()
        assert (first.result(60), second.result(60)) == ("of the first", "of the first")


def test_a_thread_makes_the_value_that_another_failed_to_make():
    memo: KernelMemo[str] = KernelMemo()
    one, begun, go_on = kernel(), threading.Event(), threading.Event()

    def fail() -> str:
        begun.set()
        assert go_on.wait(60)
        raise ValueError("no such thing")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memo.get, one, make=fail)
        assert begun.wait(60)
        second = pool.submit(memo.get, one, make=lambda: "of the second")
        go_on.set()
        with pytest.raises(ValueError, match="no such thing"):
            first.result(60)
        assert second.result(60) == "of the second"


def test_a_process_by_fork_waits_for_no_thread_that_it_does_not_have():
    memo: KernelMemo[int] = KernelMemo()
    one, begun, go_on = kernel(), threading.Event(), threading.Event()

    def slowly() -> int:
        begun.set()
        assert go_on.wait(60)
        return 1

    with ThreadPoolExecutor(1) as pool:
        pool.submit(memo.get, one, make=slowly)
        assert begun.wait(60)
        child = os.fork()
        if child == 0:
            os._exit(memo.get(one, make=lambda: 7))
        go_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
