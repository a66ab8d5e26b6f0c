"""TVM's check of the arguments of schedule functions says the same where it keeps what it knows of type hints."""

from __future__ import annotations

import importlib
import typing
from typing import Any

import pytest

from adreno_sim.compiler.tvm_bridge import schedule_arguments
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm

HINTS = [
    None, int, str, list[int], list[int | str | None], int | str, str | int, typing.Union[int, str], typing.Union[str, int],
    int | None, dict[str, int], dict[str, list[int]], tuple[int, str], typing.Callable[..., int],
    typing.Callable[[int], str], list[str | None],
]  # fmt: skip
VALUES = [None, 3, "text", 2.5, [1, 2], [1, "x", None], [1.5], {"a": 1}, {"a": [1]}, {1: 2}, (1, "x"), (1,), len]


@pytest.fixture
def checker() -> Any:
    import_tvm()
    return importlib.import_module(schedule_arguments.CHECKER)


@pytest.fixture
def original(checker, monkeypatch) -> Any:
    """Has the checker as TVM has it, until it is asked to keep again."""

    def restore() -> None:
        for name in schedule_arguments.OF_HINTS:
            monkeypatch.setattr(checker, name, getattr(checker, name).__wrapped__)

    return restore


def test_every_value_has_the_message_that_it_had(checker, original):
    kept = [checker._type_check(value, "it", hint) for _ in range(2) for hint in HINTS for value in VALUES]
    original()
    assert not hasattr(checker._dispatcher, "__wrapped__")
    assert kept == [checker._type_check(value, "it", hint) for _ in range(2) for hint in HINTS for value in VALUES]
    assert None in kept
    assert len(set(kept)) > 20


def test_a_wrong_argument_is_refused_in_the_same_words(checker, original):
    tvm = import_tvm()
    a = tvm.te.placeholder((64,), "float32", "a")
    b = tvm.te.compute((64,), lambda i: a[i] + 1, "b")
    sch = tvm.s_tir.Schedule(tvm.IRModule({"main": tvm.te.create_prim_func([a, b])}))

    def say() -> str:
        with pytest.raises(TypeError) as said:
            sch.split("loop", factors=[2, 32])
        return str(said.value)

    kept = say()
    original()
    assert say() == kept


def test_a_hint_is_taken_apart_once():
    asked: list[object] = []
    find = schedule_arguments.keep_results(lambda hint: asked.append(hint) or str(hint))
    one, other = int | str, str | int
    assert one == other
    for _ in range(3):
        assert [find(one), find(other)] == [str(one), str(other)]
    assert len(asked) == 2


def test_few_hints_are_held():
    find = schedule_arguments.keep_results(len)
    for number in range(3 * schedule_arguments.MOST):
        assert find([0] * (number % 7)) == number % 7
    assert find.__closure__ is not None
    (known,) = [cell.cell_contents for cell in find.__closure__ if isinstance(cell.cell_contents, dict)]
    assert len(known) <= schedule_arguments.MOST


def test_a_checker_without_these_functions_is_left_alone(monkeypatch):
    monkeypatch.setattr(schedule_arguments, "CHECKER", "no.such.module")
    schedule_arguments.keep_hints()
