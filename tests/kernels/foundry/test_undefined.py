"""What the foundry expects of undefined values, of kernels known by hand; and that the simulator says it, no more and no less."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from adreno_sim.findings import Finding
from foundry.judge import judge
from foundry.launches import Launch, Memory
from foundry.layout import Array, Element, Image
from foundry.model.expect import expect
from foundry.plant import Variant
from foundry.program import Program
from foundry.simulate import Run, Setting, on_processor, open_simulator, processors, run
from foundry.tree import (
    IN_GROUP,
    ITEM,
    Assign,
    Barrier,
    Declare,
    DeclareArray,
    Expr,
    For,
    If,
    Load,
    Name,
    Num,
    Place,
    ReadTexel,
    Stmt,
    Store,
)

ITEMS, SIZE = 8, 4
INT = Element("int")
J = Name("j")
BUFFER = Array("b", "global", INT, (ITEMS,), "argument", const=True)
OUT = Array("out", "global", INT, (ITEMS,), "argument")
IMAGE = Image("m", "image2d", "read_only", "R", "SIGNED_INT32", (ITEMS, 1, 1))
PRIVATE = Array("a", "private", INT, (4,))
TABLE = Array("t", "constant", INT, (ITEMS,), "program")
LOCAL = Array("w", "local", INT, (SIZE,))
FILL = (
    DeclareArray(PRIVATE),
    For("j", Num(0), "<", Num(4), 1, (If(ITEM.is_("!=", 5), (Store(Place(PRIVATE, (J,)), ITEM + J),)),)),
)
"""An array that work-item 5 leaves unset."""


def used(array: Array, index: Expr, op: str = "+=") -> Stmt:
    return Assign("s", op, Load(Place(array, (index,))))


def variant(*body: Stmt, unset: tuple[tuple[int, int], ...] = (), count: int = ITEMS) -> Variant:
    """A launch of 2 groups of 4 that ends with `out[i] = s`. unset: bytes of the buffer, and of the image. count: of `out`."""
    memories = [Memory(np.arange(n, dtype=np.int32).view(np.uint8), u, k) for k, (n, u) in enumerate([(8, unset), (8, unset)])]
    out = Memory(np.arange(count, dtype=np.int32).view(np.uint8), storage=2)
    stored = Store(Place(OUT, (ITEM,)), Name("s"), whole=True)
    program = Program((BUFFER, IMAGE, OUT), (*body, stored), ((TABLE, tuple(range(ITEMS))),))
    values = dict(zip(("b", "m", "out"), (*memories, out), strict=True))
    return Variant(program, Launch(1, (SIZE, 1, 1), (ITEMS // SIZE, 1, 1), values))


BARRIER = Barrier(0, ("local",))
LOOP = For("j", Num(0), "<", Num(3), 1, (used(PRIVATE, J),))
CASES = {  # the launch; what is told: the view, the work-item and the places that may be named
    "several elements, one statement": (variant(*FILL, LOOP), [("a", 5, {0, 4, 8})]),
    "an unrolled loop": (variant(*FILL, dataclasses.replace(LOOP, hint="#pragma unroll")), [("a", 5, {0, 4, 8})]),
    "two statements": (
        variant(*FILL, used(PRIVATE, Num(1)), used(BUFFER, ITEM, "^="), unset=((20, 24),)),
        [("a", 5, {4}), ("b", 5, {20})],
    ),
    "behind a barrier": (variant(*FILL, used(PRIVATE, (IN_GROUP + 1) % 4), BARRIER), [("a", 5, {8})]),
    "a statement that another work-item runs": (
        variant(*FILL, BARRIER, If(IN_GROUP.is_("<", 1), (used(PRIVATE, IN_GROUP),)), used(PRIVATE, Num(2)), BARRIER),
        [("a", 5, {8})],
    ),
    "an element of a buffer behind a barrier": (variant(used(BUFFER, ITEM), BARRIER, unset=((21, 22),)), [("b", 5, {20})]),
    "a texel behind a barrier": (
        variant(Assign("s", "+=", ReadTexel(IMAGE, (ITEM, Num(0)))), BARRIER, unset=((20, 24),)),
        [("m", 5, {(5, 0)})],
    ),
    "a result that is stored out of range": (variant(used(BUFFER, ITEM), unset=((28, 32),), count=7), []),
    "a read that nothing depends on": (variant(Declare("v", Load(Place(BUFFER, (ITEM,)))), unset=((20, 24),)), []),
    "bits that are cut off": (
        variant(DeclareArray(LOCAL), Store(Place(LOCAL, (IN_GROUP,)), Load(Place(BUFFER, (ITEM,)))), used(LOCAL, IN_GROUP),
                unset=((21, 24),)),
        [],
    ),
    "what local memory hands on": (
        variant(DeclareArray(LOCAL), Store(Place(LOCAL, (IN_GROUP,)), Load(Place(BUFFER, (ITEM,)))), used(LOCAL, IN_GROUP),
                unset=((20, 21),)),
        [("w", 5, {4})],
    ),
    "an index": (
        variant(Declare("at", Load(Place(BUFFER, (ITEM,)))), used(TABLE, Name("at")), unset=((20, 24),)),
        [("b", 5, {20})],
    ),
}  # fmt: skip


def simulate(launched: Variant) -> Run:
    with on_processor(processors()[0], False):
        return run(open_simulator(Setting(processors()[0], "vector", 1, True), "full"), launched)


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_of_undefined_values(name: str) -> None:
    launched, told = CASES[name]
    expected = expect(launched.program, launched.launch, True)
    found = [v for (kind, _), violations in expected.violations.items() if kind == "uninitialized-read" for v in violations]
    places = [{offset if at is None else at for _, offset, at in v.places} for v in found]
    assert [(v.view, v.item, where) for v, where in zip(found, places, strict=True)] == told
    assert not [kind for kind, _ in expect(launched.program, launched.launch, False).violations if kind == "uninitialized-read"]
    assert judge(expected, simulate(launched)) == []


@pytest.mark.parametrize(
    ("change", "sort"),
    [
        (lambda f: None, "missed"),
        (lambda f: dataclasses.replace(f, count=2), "wrong place"),
        (lambda f: dataclasses.replace(f, access=dataclasses.replace(f.access, offset=12)), "wrong place"),
        (lambda f: dataclasses.replace(f, access=dataclasses.replace(f.access, offset=None)), "wrong place"),
        (lambda f: dataclasses.replace(f, line=f.line + 2), "false alarm"),
    ],
)
def test_the_judge_takes_no_other_finding(change: Callable[[Finding], Finding | None], sort: str) -> None:
    launched, _ = CASES["several elements, one statement"]
    made = simulate(launched)
    assert made.result
    changed = [new for finding in made.result.findings if (new := change(finding)) is not None]
    other = dataclasses.replace(made, result=dataclasses.replace(made.result, findings=changed))
    assert sort in {problem.sort for problem in judge(expect(launched.program, launched.launch, True), other)}
