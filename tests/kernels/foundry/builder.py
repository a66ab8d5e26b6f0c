"""What a kernel is built with: its random choices, its launch, its parameters, and the places where a defect may be planted."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import tree
from .launches import Launch, Memory, Size
from .layout import SCALARS, Array, Element, Image, Struct
from .program import Parameter, Program, Scalar
from .tree import GROUP, IN_GROUP, ITEM, Expr, Hole, Name, Num, Place, Stmt

GROUPS = (1, 2, 3, 4, 7, 8, 8, 12, 16, 16, 16, 24, 32, 32, 48, 64, 64, 100, 128, 256, 512, 1024)
MOST_ITEMS = 1536


@dataclass(frozen=True)
class Site:
    """A hole or a slot. role: "index", "inner", "coordinate", "fill", "fence" or "extra".

    extent: how many values are inside the object; filled: how many of these were written. index: of a fill, its outermost index;
    of an extra slot, what the work-item writes there. inside: whether a barrier stands where all work-items pass it once.
    """

    number: int
    role: str
    space: str
    writes: bool = False
    extent: int = 0
    filled: int = 0
    object: Array | Image | None = None
    index: tuple[Expr, ...] = ()
    stmt: Stmt | None = None


@dataclass
class Builder:
    """plain: the compiler knows all numbers but ids, and the defect, if it is an offset, is the same for all work-items."""

    random: random.Random
    launch: Launch
    plain: bool = False
    parameters: list[Parameter] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    tables: list[tuple[Array, tuple[int, ...]]] = field(default_factory=list)
    samplers: dict[str, str] = field(default_factory=dict)
    indices: set[str] = field(default_factory=set)  # buffers that hold indices
    numbers: int = 0
    names: int = 0

    def program(self) -> Program:
        return Program(
            tuple(self.parameters), tuple(self.body), tuple(self.tables), tuple(self.samplers.items()), self.launch.dimensions
        )

    # -- names and numbers

    def name(self, start: str) -> str:
        self.names += 1
        return f"{start}{self.names}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self, value: int) -> Expr:
        """A number, as a literal or as an argument."""
        return Num(value) if self.plain or self.chance(0.7) else self.scalar(value)

    def scalar(self, value: int) -> Name:
        name = self.name("n")
        self.parameters.append(Scalar(name))
        self.launch.values[name] = value
        return Name(name)

    # -- objects

    def element(self, vectors: bool = True) -> Element:
        scalar = self.random.choice([*SCALARS, "int", "int", "float"])
        lanes = self.random.choice([2, 4, 4, 8]) if vectors and self.chance(0.2) else 1
        return Element(scalar, lanes)

    def struct(self) -> Struct:
        fields = [("q", self.element(False), self.random.randint(2, 6))]
        if self.chance(0.7):
            fields.append(("z", self.element(), 0))
        if self.chance(0.4):
            fields.append(("p", self.element(False), self.random.randint(2, 5)))
        self.random.shuffle(fields)
        return Struct(self.name("S"), tuple(fields))

    def memory(self, nbytes: int, dtype: np.dtype, unset: tuple[tuple[int, int], ...] = ()) -> Memory:
        """Memory of its own, filled with 64 to 127: no kernel writes such a number."""
        count = -(-nbytes // dtype.itemsize)
        values = np.random.default_rng(self.random.getrandbits(32)).integers(64, 128, count).astype(dtype)
        return Memory(values.view(np.uint8)[:nbytes].copy(), unset, storage=len(self.launch.values))

    def buffer(self, array: Array, unset: tuple[tuple[int, int], ...] = ()) -> None:
        """Adds a buffer argument for an array."""
        self.parameters.append(array)
        memory = self.buffer_memory(array, unset)
        offset = self.random.choice([0, 0, 0, 0, 128, 1024])  # of a part of a larger storage
        self.launch.values[array.name] = dataclasses.replace(memory, offset=offset)

    def buffer_memory(self, array: Array, unset: tuple[tuple[int, int], ...] = ()) -> Memory:
        if isinstance(array.element, Element):
            return self.memory(array.nbytes, array.element.dtype, unset)
        whole = self.memory(array.nbytes, np.dtype(np.uint8), unset)
        cells = whole.contents.reshape(-1, array.element.nbytes)
        for name, element, count in array.element.fields:
            at = array.element.offset_of(name)
            n = element.nbytes * max(count, 1)
            numbers = cells[:, at : at + n // element.dtype.itemsize].astype(element.dtype)
            cells[:, at : at + n] = np.ascontiguousarray(numbers).view(np.uint8)
        return whole

    # -- places for defects

    def hole(self, inner: Expr, role: str, space: str, **more: Any) -> Hole:
        self.numbers += 1
        self.sites.append(Site(self.numbers, role, space, **more))
        return Hole(self.numbers, inner)

    def slot(self, body: tuple[Stmt, ...], role: str, space: str, **more: Any) -> tree.Slot:
        self.numbers += 1
        self.sites.append(Site(self.numbers, role, space, stmt=body[0] if body else None, **more))
        return tree.Slot(self.numbers, body)

    def barrier(self, *fences: str, space: str = "") -> tree.Barrier:
        """A barrier that all work-items pass; `space` if accesses to it are ordered by this one."""
        self.numbers += 1
        shown = list(fences)
        if self.chance(0.15):
            shown += [fence for fence in ("local", "global") if fence not in shown]
        function = self.random.choice(["barrier", "barrier", "work_group_barrier"])
        made = tree.Barrier(self.numbers, tuple(shown), function)
        self.sites.append(Site(self.numbers, "fence", space, stmt=made))
        return made

    def place(
        self,
        array: Array,
        indices: tuple[Expr, ...],
        *,
        writes: bool,
        filled: int = 0,
        field: str = "",
        inner: Expr | None = None,
    ) -> Place:
        """A place, whose indices are holes."""
        first = self.hole(indices[0], "index", array.space, writes=writes, extent=array.dims[0], filled=filled, object=array)
        rest = [
            self.hole(index, "inner", array.space, writes=writes, extent=extent, object=array)
            for index, extent in zip(indices[1:], array.dims[1:], strict=True)
        ]
        if inner is not None:
            assert isinstance(array.element, Struct)
            count = array.element.element_of(field)[1]
            inner = self.hole(inner, "inner", array.space, writes=writes, extent=count, object=array)
        return Place(array, (first, *rest), field, inner)

    def condition(self) -> Expr:
        """A condition that some work-items fulfil."""
        r = self.random
        k = r.randint(2, 5)
        return r.choice(
            [
                (ITEM & 1).is_("==", r.randint(0, 1)),
                (ITEM % k).is_("!=", r.randrange(k)),
                IN_GROUP.is_("<", self.number(max(1, self.launch.group_items // 2))),
                ITEM.is_(">=", self.number(r.randint(0, max(1, self.launch.items // 2)))),
                (GROUP & 1).is_("==", 0),
                (ITEM % k).is_("<", k - 1),
                (ITEM & 1).is_("==", 1).is_("||", (IN_GROUP % k).is_("==", 0)),
            ]
        )

    def value(self, *parts: Expr) -> Expr:
        """A number of a work-item, and of `parts`."""
        made: Expr = ITEM * self.random.choice([1, 3, 5, 7]) + self.random.randint(0, 63)
        for part in parts:
            made = made + part * self.random.choice([1, 1, 2, 9])
        return made


def make_launch(chooser: random.Random, most: int = MOST_ITEMS) -> Launch:
    """Sizes of a launch."""
    items = chooser.choice([group for group in GROUPS if group <= most])
    dimensions = chooser.choice([1, 1, 1, 2, 2, 3])
    group = _split(items, dimensions, chooser)
    total = max(1, min(chooser.choice([1, 2, 2, 3, 4, 5, 8]), most // items))
    groups = _split(total, dimensions, chooser)
    return Launch(dimensions, group, groups)


def make_small_groups(chooser: random.Random) -> Launch:
    """Sizes of a launch with many groups side by side."""
    dimensions = chooser.choice([1, 1, 2])
    group = _split(chooser.choice([2, 4, 8, 8, 16, 16, 24, 32]), dimensions, chooser)
    return Launch(
        dimensions, group, (chooser.choice([8, 16, 16, 20, 32, 33]), chooser.choice([1, 2]) if dimensions > 1 else 1, 1)
    )


def _split(number: int, dimensions: int, chooser: random.Random) -> Size:
    parts = [number, 1, 1]
    for axis in range(1, dimensions):
        divisors = [d for d in (1, 2, 3, 4, 8, 16) if parts[0] % d == 0]
        d = chooser.choice(divisors)
        parts[0] //= d
        parts[axis] = d
    return parts[0], parts[1], parts[2]
