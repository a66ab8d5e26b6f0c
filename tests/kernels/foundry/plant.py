"""Plants one defect in a kernel, or in its launch; the clean twin has the same form, and the defect's trigger never fires."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import tree
from .builder import Builder, Site
from .launches import Launch, Memory
from .layout import Array, Element
from .model.evaluate import Outcome, Range
from .program import Program
from .tree import (
    GROUP,
    IN_GROUP,
    ITEM,
    Barrier,
    Binary,
    Choose,
    Expr,
    For,
    If,
    Load,
    Num,
    Place,
    ReadTexel,
    Stmt,
    Store,
    WriteTexel,
)


class NothingToPlantError(Exception):
    """This kernel has no place for the defect: another one is made."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A program and its launch."""

    program: Program
    launch: Launch


@dataclass(frozen=True, eq=False)
class Pair:
    """A kernel with a defect, and its clean twin. kinds: of findings, one of which the defect is to have. refused: the statement
    that no compiler takes."""

    planted: Variant
    clean: Variant
    kinds: tuple[str, ...]
    refused: Stmt | None = None


@dataclass(frozen=True)
class Trigger:
    """A condition that holds for some work-items in the planted kernel, for none in the clean one (None: it is not there)."""

    planted: Expr
    clean: Expr | None


class Planter:
    def __init__(self, b: Builder, outcome: Outcome) -> None:
        self._b, self._outcome = b, outcome
        self._random = b.random
        self._planted_values: dict[str, int | Memory] = {}
        self._clean_values: dict[str, int | Memory] = {}

    def plant(self, kind: str, space: str) -> Pair:
        """Raises NothingToPlantError where this kernel has no place for such a defect."""
        return _PLANTERS[kind](self, space)

    # -- choices

    def _sites(self, *roles: str, space: str) -> list[Site]:
        return [s for s in self._b.sites if s.role in roles and s.space == space]

    def _choose(self, sites: list[Site]) -> Site:
        if not sites:
            raise NothingToPlantError
        return self._random.choice(sites)

    def _range(self, number: int) -> Range:
        found = self._outcome.holes.get(number)
        if found is None or not found.executed.any():
            raise NothingToPlantError
        return found

    def _trigger(self, item: int) -> Trigger:
        """A condition that one work-item fulfils."""
        linear = self._b.launch.linear
        way = self._random.choice(["literal", "literal", "ids", "argument", "argument", "memory"])
        if way == "literal":
            return Trigger(ITEM.is_("==", item), self._random.choice([None, ITEM.is_("==", -1)]))
        if way == "ids":
            found = [GROUP.is_("==", int(linear["g"][item])), IN_GROUP.is_("==", int(linear["l"][item]))]
            return Trigger(found[0].is_("&&", found[1]), None)
        if way == "argument":
            name = self._b.scalar(-1)
            self._planted_values[name.name] = item
            return Trigger(ITEM.is_("==", name), ITEM.is_("==", name))
        array = Array(
            self._b.name("f"), "global", Element(self._random.choice(["int", "uchar"])), (self._b.launch.items,), "argument", True
        )
        self._b.buffer(array)
        old = self._b.launch.values[array.name]
        assert isinstance(old, Memory)
        assert isinstance(array.element, Element)
        marks = np.zeros(self._b.launch.items, array.element.dtype)
        self._b.launch.values[array.name] = dataclasses.replace(old, contents=marks.view(np.uint8).copy())
        marks[item] = 1
        self._planted_values[array.name] = dataclasses.replace(old, contents=marks.view(np.uint8))
        found_there = Load(Place(array, (ITEM,))).is_("!=", 0)
        return Trigger(found_there, found_there)

    def _moved(self, inner: Expr, item: int, by: int) -> tuple[Expr, Expr]:
        """`inner` with `by` added at one work-item, or at all; and the clean expression."""
        if self._random.random() < (0.8 if self._b.plain else 0.3):
            if self._b.plain or self._random.random() < 0.4:
                return inner + by, inner
            name = self._b.scalar(0)
            self._planted_values[name.name] = by
            return inner + name, inner + name
        trigger = self._trigger(item)
        form = self._random.choice([_times, _chosen, _chosen_whole])
        return form(inner, trigger.planted, by), inner if trigger.clean is None else form(inner, trigger.clean, by)

    # -- pairs

    def _pair(self, planted: dict[int, object], clean: dict[int, object], kinds: tuple[str, ...]) -> Pair:
        program, launch = self._b.program(), self._b.launch
        bodies = [tree.fill_holes(program.body, new) for new in (planted, clean)]
        programs = [dataclasses.replace(program, body=body) for body in bodies]
        launches = [
            dataclasses.replace(launch, values={**launch.values, **values})
            for values in (self._planted_values, self._clean_values)
        ]
        return Pair(Variant(programs[0], launches[0]), Variant(programs[1], launches[1]), kinds)

    def _hole(self, number: int) -> tree.Hole:
        return next(n for n in tree.walk(tuple(self._b.body)) if isinstance(n, tree.Hole) and n.number == number)

    def _shift(self, site: Site, low: int, high: int, kinds: tuple[str, ...]) -> Pair:
        """Moves an index at one work-item so that it reaches `high`, or `low - 1`."""
        range_ = self._range(site.number)
        items = np.flatnonzero(range_.executed)
        if self._random.random() < 0.75:
            up = range_.high[items].max()
            best = items[range_.high[items] == up]
            item = int(self._random.choice(best.tolist()))
        else:
            item = int(self._random.choice(items.tolist()))
        by = high - int(range_.high[item])
        if self._random.random() < 0.3 and low <= 0:
            by = low - 1 - int(range_.low[item])
        if by == 0:
            raise NothingToPlantError
        hole = self._hole(site.number)
        planted, clean = self._moved(hole.inner, item, by)
        return self._pair({site.number: planted}, {site.number: clean}, kinds)

    def out_of_range(self, space: str, writes: bool) -> Pair:
        roles = ("coordinate",) if space == "image" else ("index",)
        site = self._choose([s for s in self._sites(*roles, space=space) if s.writes == writes and s.extent])
        how = "write" if writes else "read"
        kind = f"image-{how}-out-of-range" if space == "image" else f"out-of-bounds-{how}"
        value = self._b.launch.values.get(site.object.name) if site.object else None
        if space in ("global", "constant", "local") and value is not None and self._random.random() < 0.2:
            return self._too_small(site, value, kind)
        return self._shift(site, 0, site.extent, (kind,))

    def _too_small(self, site: Site, value: int | Memory, kind: str) -> Pair:
        """The object lacks its last element, or some bytes of it."""
        array = site.object
        assert isinstance(array, Array)
        range_ = self._range(site.number)
        last = int(range_.high[range_.executed].max())
        lacking = (site.extent - last) * array.element.nbytes
        if isinstance(value, Memory):
            unset = tuple((a, min(b, value.nbytes - lacking)) for a, b in value.unset if a < value.nbytes - lacking)
            if value.nbytes <= lacking:
                raise NothingToPlantError
            self._planted_values[array.name] = dataclasses.replace(value, contents=value.contents[:-lacking], unset=unset)
        elif value <= lacking:
            raise NothingToPlantError
        else:
            self._planted_values[array.name] = value - lacking
        return self._pair({}, {}, (kind,))

    def struct_end(self, space: str) -> Pair:
        site = self._choose([s for s in self._sites("inner", space=space) if s.extent])
        return self._shift(site, 0, site.extent, ("sub-object-overrun",))

    def unset(self, space: str) -> Pair:
        ways: list[Callable[[str], Pair]] = [self._skipped, self._skipped, self._beyond_filled, self._never_written]
        return self._random.choice(ways)(space)

    def _skipped(self, space: str) -> Pair:
        """One work-item does not write one of its elements."""
        site = self._choose(self._sites("fill", space=space))
        store = site.stmt
        assert isinstance(store, (Store, WriteTexel))
        first = store.coordinates[0] if isinstance(store, WriteTexel) else store.place.indices[0]
        number = first.number if isinstance(first, tree.Hole) else None
        item = self._random.randrange(self._b.launch.items)
        condition = self._trigger(item)
        found: list[tuple[Stmt, ...]] = []
        for holds in (condition.planted, condition.clean):
            skipped = holds
            if holds is not None and number is not None and isinstance(store, Store):
                range_ = self._range(number)
                if not range_.executed[item]:
                    raise NothingToPlantError
                at = self._random.randint(int(range_.low[item]), int(range_.high[item]))
                skipped = holds.is_("&&", site.index[0].is_("==", at))
            found.append((store,) if skipped is None else (If(_not(skipped), (store,)),))
        return self._pair({site.number: found[0]}, {site.number: found[1]}, ("uninitialized-read",))

    def _beyond_filled(self, space: str) -> Pair:
        sites = [s for s in self._sites("index", space=space) if 0 < s.filled < s.extent and not s.writes]
        site = self._choose(sites)
        return self._shift(site, 1, site.filled, ("uninitialized-read",))

    def _never_written(self, space: str) -> Pair:
        """An argument's bytes that the launch reads are unset before it."""
        events = [
            e for e in self._outcome.memories.events
            if e.bound.space == space and not e.writes and isinstance(self._b.launch.values.get(e.bound.name), Memory)
        ]  # fmt: skip
        if not events:
            raise NothingToPlantError
        event = self._random.choice(events)
        start = int(self._random.choice(event.starts.tolist())) - event.bound.base
        memory = self._b.launch.values[event.bound.name]
        assert isinstance(memory, Memory)
        more = (start, start + self._random.choice([1, event.nbytes, event.nbytes]))
        self._planted_values[event.bound.name] = dataclasses.replace(memory, unset=(*memory.unset, more))
        return self._pair({}, {}, ("uninitialized-read",))

    def fence(self, space: str) -> Pair:
        site = self._choose(self._sites("fence", space=space))
        barrier = site.stmt
        assert isinstance(barrier, Barrier)
        others = tuple(f for f in ("local", "global", "image") if f != space)
        wrong = self._random.choice([None, (self._random.choice(others),), others])
        new = None if wrong is None else dataclasses.replace(barrier, fences=wrong)
        return self._pair({site.number: new}, {}, ("data-race",))

    def divergent(self, space: str) -> Pair:
        sites = [s for s in self._b.sites if s.role == "fence" and space in s.stmt.fences]  # type: ignore[union-attr]
        site = self._choose(sites)
        barrier = site.stmt
        assert isinstance(barrier, Barrier)
        trigger = self._trigger(self._random.randrange(self._b.launch.items))
        way, name = self._random.choice(["if", "if", "return", "loop", "two"]), self._b.name("j")

        def make(holds: Expr | None) -> object:
            if holds is None:
                return barrier
            if way == "if":
                return If(_not(holds), (barrier,))
            if way == "return":
                return tree.Slot(0, (If(holds, (tree.Return(),)), barrier))
            if way == "loop":
                return For(name, Num(0), "<", Num(1) + Choose(holds, Num(1), Num(0)), 1, (barrier,))
            return If(holds, (dataclasses.replace(barrier, number=0),), (barrier,))

        return self._pair({site.number: make(trigger.planted)}, {site.number: make(trigger.clean)}, ("divergent-barrier",))

    def collision(self, space: str) -> Pair:
        """One work-item writes or reads what another one writes in the same interval."""
        site = self._choose(self._sites("extra", space=space))
        item = self._random.randrange(self._b.launch.items)
        fills = [s for s in self._sites("fill", space=space) if s.object is site.object]
        other = self._choose(fills).stmt
        assert isinstance(other, (Store, WriteTexel))
        trigger = self._trigger(item)
        reads = self._random.random() < 0.4 and getattr(site.object, "access", "read_write") == "read_write"
        value = ITEM * 3 + self._random.randint(0, 63)
        new = self._same_place(other, item, value, reads)
        found = [() if holds is None else (If(holds, (new,)),) for holds in (trigger.planted, trigger.clean)]
        return self._pair({site.number: found[0]}, {site.number: found[1]}, ("data-race",))

    def _same_place(self, other: Store | WriteTexel, item: int, value: Expr, reads: bool) -> Stmt:
        """An access to what another work-item writes with the statement `other`."""
        linear = self._b.launch.linear
        if isinstance(other, WriteTexel):
            ranges = [self._range(c.number) for c in other.coordinates]  # type: ignore[attr-defined]
            victim = self._victim(ranges[0].executed, item, None)
            at = tuple(Num(int(r.low[victim])) for r in ranges)
            if reads:
                return tree.Assign("s", "+=", ReadTexel(other.image, at))
            return WriteTexel(other.image, at, value)
        place = other.place
        hole = place.indices[0] if isinstance(place.indices[0], tree.Hole) else place.shift
        if not isinstance(hole, tree.Hole):
            raise NothingToPlantError
        range_ = self._range(hole.number)
        victim = self._victim(range_.executed, item, linear["g"] if place.array.space == "local" else None)
        index = Num(self._random.choice([int(range_.low[victim]), int(range_.high[victim])]))
        rest = tuple(Num(0) for _ in place.indices[1:])
        inner = None if place.inner is None else Num(0)
        if place.many and place.shift is hole:
            new = Place(place.array, (Num(0),), many=place.many, shift=index)
        else:
            new = Place(place.array, (index, *rest), place.field, inner, place.many, None if place.many else place.shift)
        return tree.Assign("s", "+=", Load(new)) if reads else Store(new, value)

    def _victim(self, executed: np.ndarray, item: int, groups: np.ndarray | None) -> int:
        others = executed.copy()
        others[item] = False
        if groups is not None:
            others &= groups == groups[item]
        if not others.any():
            raise NothingToPlantError
        near = [n for n in (item - 1, item + 1) if 0 <= n < len(others) and others[n]]
        if near and self._random.random() < 0.6:
            return self._random.choice(near)
        return int(self._random.choice(np.flatnonzero(others).tolist()))

    def constant_write(self, space: str) -> Pair:
        """The compiler refuses it."""
        nodes = list(tree.walk(tuple(self._b.body)))
        program = self._b.program()
        if space == "image":
            reads = [n for n in nodes if isinstance(n, ReadTexel) and n.image.access == "read_only"]
            if not reads:
                raise NothingToPlantError
            read = self._random.choice(reads)
            new: Stmt = WriteTexel(read.image, tuple(Num(0) for _ in read.coordinates), Num(1))
        else:
            loads = [n.place for n in nodes if isinstance(n, Load) and n.place.array.space == space and not n.place.many
                     and (space == "constant" or n.place.array.const)]  # fmt: skip
            if not loads:
                raise NothingToPlantError
            place = self._random.choice(loads)
            fixed = Place(place.array, tuple(Num(0) for _ in place.indices), place.field, place.inner and Num(0))
            new = Store(fixed, Num(1))
        at = self._random.randint(0, len(program.body))
        trigger = self._trigger(self._random.randrange(self._b.launch.items))
        program = self._b.program()
        body = (*program.body[:at], If(trigger.planted, (new,)), *program.body[at:])
        clean = Variant(program, self._b.launch)
        return Pair(Variant(dataclasses.replace(program, body=body), self._b.launch), clean, (), new)

    def aliasing(self, space: str) -> Pair:
        """Two arguments in one storage: they overlap by a part, by all, or lie side by side."""
        values, names = self._b.launch.values, {p.name: p for p in self._b.parameters}
        written = {e.bound.name for e in self._outcome.memories.events if e.writes}
        accessed = {e.bound.name for e in self._outcome.memories.events}
        memories = [n for n, v in values.items() if isinstance(v, Memory) and n in accessed]
        outs = [n for n in memories if n in written and isinstance(names[n], Array)]
        memories = [n for n in memories if n not in self._b.indices]
        others = [n for n in memories if names[n].space == space and isinstance(names[n], Array)]  # type: ignore[union-attr]
        pairs = [(o, i) for o in outs for i in others if o != i]
        if not pairs:
            raise NothingToPlantError
        out, other = self._random.choice(pairs)
        one, two = values[out], values[other]
        assert isinstance(one, Memory)
        assert isinstance(two, Memory)
        align = 128
        behind = -(-two.nbytes // align) * align
        over = [offset for offset in range(0, two.nbytes, align) if (offset, one.nbytes) != (0, two.nbytes)]
        if not over:
            raise NothingToPlantError
        offset = self._random.choice([over[-1], self._random.choice(over)])
        storage = two.storage
        self._planted_values[out] = dataclasses.replace(one, storage=storage, offset=two.offset + offset)
        self._clean_values[out] = dataclasses.replace(one, storage=storage, offset=two.offset + behind)
        return self._pair({}, {}, ("storage-reused-while-live",))


def _times(inner: Expr, holds: Expr, by: int) -> Expr:
    return inner + (holds if by == 1 else holds * by)


def _chosen(inner: Expr, holds: Expr, by: int) -> Expr:
    return inner + Choose(holds, Num(by), Num(0))


def _chosen_whole(inner: Expr, holds: Expr, by: int) -> Expr:
    return Choose(holds, inner + by, inner)


def _not(e: Expr) -> Expr:
    if isinstance(e, Binary) and e.op in ("==", "!="):
        return Binary("!=" if e.op == "==" else "==", e.left, e.right)
    return e.is_("==", 0)


_PLANTERS: dict[str, Callable[[Planter, str], Pair]] = {
    "out of range, read": lambda p, space: p.out_of_range(space, False),
    "out of range, write": lambda p, space: p.out_of_range(space, True),
    "end of a struct's array": Planter.struct_end,
    "unset element": Planter.unset,
    "missing or wrong fence": Planter.fence,
    "divergent barrier": Planter.divergent,
    "colliding pair": Planter.collision,
    "aliasing arguments": Planter.aliasing,
    "write to a constant": Planter.constant_write,
}
