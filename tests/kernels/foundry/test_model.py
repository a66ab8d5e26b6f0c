"""The foundry's model: what it says of kernels whose findings are known by hand, and its bytes against another's OpenCL."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from foundry.cases import ALL_CELLS, make_case
from foundry.launches import Launch, Memory
from foundry.layout import Array, Element, Image
from foundry.model.expect import Expected, expect
from foundry.program import Program, Scalar
from foundry.tree import GROUP, IN_GROUP, ITEM, Assign, Barrier, DeclareArray, Expr, For, If, Load, Name, Num, Place, Stmt, Store

ITEMS, SIZE = 8, 4
INT = Element("int")
J = Name("j")
BUFFER = Array("b", "global", INT, (ITEMS,), "argument")
OUT = Array("out", "global", INT, (ITEMS,), "argument")
LOCAL = Array("w", "local", INT, (SIZE,))
PRIVATE = Array("a", "private", INT, (3,))


def told(*body: Stmt, unset: tuple[tuple[int, int], ...] = (), count: int = ITEMS, full: bool = True) -> Expected:
    """What the model says of a kernel over 2 groups of 4 with a buffer `b` of `count` elements."""
    memory = Memory(np.arange(count, dtype=np.int32).view(np.uint8), unset)
    out = Memory(np.arange(ITEMS, dtype=np.int32).view(np.uint8), storage=1)
    program = Program((BUFFER, Scalar("n"), OUT), body)
    return expect(program, Launch(1, (SIZE, 1, 1), (ITEMS // SIZE, 1, 1), {"b": memory, "n": 3, "out": out}), full)


def at(array: Array, index: Expr) -> Place:
    return Place(array, (index,))


LEFT = Store(at(OUT, ITEM), Name("s"), whole=True)
"""Leaves what was used for the host."""


def used(array: Array, index: Expr) -> Stmt:
    return Assign("s", "+=", Load(at(array, index)))


def test_what_is_in_range_and_written_is_no_finding() -> None:
    assert not told(used(BUFFER, ITEM)).kinds


@pytest.mark.parametrize(
    ("statement", "kind", "item", "offset"),
    [
        (used(BUFFER, ITEM + 1), "out-of-bounds-read", 7, 32),
        (used(BUFFER, ITEM - 1), "out-of-bounds-read", 0, -4),
        (Store(at(BUFFER, ITEM + ITEM.is_("==", 7)), Num(1)), "out-of-bounds-write", 7, 32),
    ],
)
def test_one_element_out_of_range(statement: Stmt, kind: str, item: int, offset: int) -> None:
    ((found,),) = told(statement, full=False).violations.values()
    assert (found.kind, found.item, found.offset, found.line) == (kind, item, offset, 6)


def test_a_buffer_that_is_too_small() -> None:
    ((found,),) = told(used(BUFFER, ITEM), count=7).violations.values()
    assert (found.kind, found.item) == ("out-of-bounds-read", 7)


def test_bytes_that_nobody_wrote_are_found_at_level_full_alone() -> None:
    ((found,),) = told(used(BUFFER, ITEM), LEFT, unset=((21, 22),)).violations.values()
    assert (found.kind, found.item, found.offset) == ("uninitialized-read", 5, 20)
    assert not told(used(BUFFER, ITEM), LEFT, unset=((21, 22),), full=False).kinds
    assert not told(used(BUFFER, ITEM), unset=((21, 22),)).kinds, "nothing depends on them"


def test_an_element_that_one_work_item_does_not_fill() -> None:
    fill = For("j", Num(0), "<", Name("n"), 1, (If(ITEM.is_("!=", 2).is_("||", J.is_("!=", 1)), (Store(at(PRIVATE, J), J),)),))
    read = For("j", Num(2), ">=", Num(0), -1, (used(PRIVATE, J),))
    ((found,),) = told(DeclareArray(PRIVATE), fill, read, LEFT).violations.values()
    assert (found.kind, found.item, found.offset) == ("uninitialized-read", 2, 4)


@pytest.mark.parametrize(
    ("fences", "kinds"), [(("local",), set()), (("global", "local"), set()), (("global",), {"data-race"}), (None, {"data-race"})]
)
def test_a_fence_orders_its_own_memory(fences: tuple[str, ...] | None, kinds: set[str]) -> None:
    barrier = () if fences is None else (Barrier(0, fences),)
    found = told(DeclareArray(LOCAL), Store(at(LOCAL, IN_GROUP), ITEM + 1), *barrier, used(LOCAL, (IN_GROUP + 1) % SIZE))
    assert found.kinds == kinds
    assert not kinds or {race.items for race in found.races} == {(g + (n + 1) % 4, g + n) for g in (0, 4) for n in range(4)}


def test_groups_race_whatever_the_barrier() -> None:
    found = told(Store(at(BUFFER, ITEM), ITEM + 50), Barrier(0, ("global",)), used(BUFFER, (ITEM + 4) % ITEMS))
    assert found.kinds == {"data-race"}


def test_work_items_that_write_the_same_value() -> None:
    assert told(Store(at(BUFFER, Num(0)), Num(40))).kinds == {"same-value-race"}


def test_a_barrier_that_one_does_not_reach() -> None:
    found = told(If(ITEM.is_("!=", 6), (Barrier(0, ("local",)),)))
    assert found.diverged == [(7, 1)]
    assert not told(If(GROUP.is_("!=", 1), (Barrier(0, ("local",)),))).diverged


def _argument(parameter: object, value: int | Memory) -> oracle.Arg:
    if isinstance(parameter, Scalar):
        return oracle.Scalar(np.int32(value))
    return oracle.Buffer(value.contents.copy()) if isinstance(value, Memory) else oracle.Local(value)


CELLS = [n for n, cell in enumerate(ALL_CELLS) if cell.space != "image" and cell.level == "full"]


@pytest.mark.parametrize("number", CELLS[::3])
def test_bytes_of_clean_twins_are_those_of_another_opencl(judge: oracle.Oracle, number: int) -> None:
    seed = next(s for s in range(99) if not _has_image(make_case(s, number).pair.clean.program))
    clean = make_case(seed, number).pair.clean
    launch = clean.launch
    args = [_argument(p, launch.values[p.name]) for p in clean.program.parameters]
    sizes = launch.grid[: launch.dimensions], launch.group[: launch.dimensions]
    outputs = iter(judge.run(clean.program.text, "-cl-std=CL2.0", "k", *sizes, args))
    expected = expect(clean.program, launch, True).contents
    for name, value in launch.values.items():
        if isinstance(value, Memory):
            bytes_, known = expected[name]
            assert np.array_equal(next(outputs).view(np.uint8)[known], bytes_[known]), (seed, name)


def _has_image(program: Program) -> bool:
    return any(isinstance(parameter, Image) for parameter in program.parameters)
