"""Numbered cases: which defect, where, at which level, in which code; and the pair of kernels of each."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .builder import Builder, make_launch, make_small_groups
from .layout import Array, Element
from .model.evaluate import evaluate
from .model.expect import expect
from .parts.images import add_image
from .parts.sections import SECTIONS, add_local
from .plant import NothingToPlantError, Pair, Planter
from .tree import ITEM, Name, Place, Store

SPACES = ("private", "local", "global", "constant", "image")
BOTH = ("bounds", "full")
CELLS: dict[tuple[str, str], tuple[str, ...]] = {
    **{("out of range, read", space): BOTH for space in SPACES},
    **{("out of range, write", space): BOTH for space in SPACES if space != "constant"},
    **{("end of a struct's array", space): BOTH for space in SPACES if space != "image"},
    **{("unset element", space): ("full",) for space in SPACES},
    **{("missing or wrong fence", space): ("full",) for space in ("local", "global", "image")},
    **{("colliding pair", space): ("full",) for space in ("local", "global", "image")},
    **{("divergent barrier", space): BOTH for space in ("local", "global", "image")},
    **{("aliasing arguments", space): BOTH for space in ("global", "constant")},
    **{("write to a constant", space): BOTH for space in ("global", "constant", "image")},
}
"""The levels that promise to find a defect in a space of memory."""
KINDS = tuple(dict.fromkeys(kind for kind, _ in CELLS))
TRIES = 200


@dataclass(frozen=True)
class Cell:
    kind: str
    space: str
    level: str


ALL_CELLS = tuple(Cell(kind, space, level) for (kind, space), levels in CELLS.items() for level in levels)


@dataclass(frozen=True, eq=False)
class Case:
    """seed: of everything about it."""

    seed: str
    cell: Cell
    pair: Pair


def cell_of(number: int) -> Cell:
    """Cells take turns."""
    return ALL_CELLS[number % len(ALL_CELLS)]


def make_case(seed: int, number: int) -> Case:
    """Case `number` of a seed: kernels are made until one has a place for the defect, and the model agrees with what was
    planted: the planted kernel has the defect, its twin has none."""
    cell = cell_of(number)
    name = f"{seed}/{number}"
    for attempt in range(TRIES):
        chooser = random.Random(f"{name}/{attempt}")
        pair = _try(cell, chooser)
        if pair is not None:
            return Case(name, cell, pair)
    raise AssertionError(f"case {name}: {cell} could not be planted in {TRIES} kernels")


def _try(cell: Cell, chooser: random.Random) -> Pair | None:
    small = cell.space in ("private", "local", "constant", "global") and chooser.random() < 0.3
    launch = make_small_groups(chooser) if small else make_launch(chooser)
    b = Builder(chooser, launch, plain=not small and chooser.random() < 0.45)
    _build(b, cell, small)
    program = b.program()
    outcome = evaluate(program, b.launch)
    try:
        pair = Planter(b, outcome).plant(cell.kind, cell.space)
    except NothingToPlantError:
        return None
    full = cell.level == "full"
    if expect(pair.clean.program, pair.clean.launch, True).kinds:
        return None
    if pair.refused is not None:
        return pair
    found = expect(pair.planted.program, pair.planted.launch, full).kinds
    return pair if found & set(pair.kinds) else None


def _build(b: Builder, cell: Cell, small: bool) -> None:
    """The part with the defect, and up to two others, in any order. small: groups are many and small, and hand over in local
    memory, as those do of which a device runs several as one."""
    main = [add_image] if cell.space == "image" else SECTIONS[cell.space]
    parts = [b.random.choice(main)]
    if cell.kind == "aliasing arguments":
        parts = [b.random.choice(SECTIONS[cell.space]), b.random.choice(SECTIONS["global"][1:])]
    others = [add_image, *(part for sections in SECTIONS.values() for part in sections)]
    parts += b.random.choices(others, k=0 if b.plain else b.random.choice([0, 0, 1, 1, 2]))
    if small:
        parts = [part for part in parts if part is not add_image][:2]
        parts += [] if add_local in parts else [add_local]
    b.random.shuffle(parts)
    for part in parts:
        part(b)
    out = Array("out", "global", Element("int"), (b.launch.items,), "argument")
    b.buffer(out, ((0, out.nbytes),) if b.chance(0.5) else ())
    b.body.append(Store(Place(out, (ITEM,)), Name("s"), whole=True))
