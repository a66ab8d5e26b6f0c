"""Planners that keep textures two-dimensional: TVM's legacy runtime pool and Relay's graph planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

import numpy as np

from ....records import dataclass
from ..allocation import Allocation, Slot
from ..problem import Item, Problem
from .pools import Candidate, Pool1D, choose_texture, common_scope, replay
from .unordered import UnorderedSet


@dataclass
class ReleaseOrder:
    """Free textures, the one released first before others."""

    numbers: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def insert(self, number: int) -> None:
        self.numbers.append(number)

    def erase(self, number: int) -> None:
        self.numbers.remove(number)


@dataclass
class Pool2D:
    """Textures, some of them free. `like` says whether a free texture, last made for `items[...]`, may serve an item.

    free: in the order in which they are tried; ids of textures, which count all storages that are made, buffers too.
    """

    like: Callable[[Item, Item], bool]
    free: ReleaseOrder | UnorderedSet
    slots: list[Slot] = field(default_factory=list)
    makers: list[Item] = field(default_factory=list)
    ids: dict[int, int] = field(default_factory=dict)

    def take(self, item: Item, id: int) -> int:
        """The texture for `item`: a free one, made larger where needed and then of its dtype, else a new one called `id`."""
        width, height = item.extent
        free = [self.ids[id] for id in self.free if self.like(self.makers[self.ids[id]], item)]
        chosen = choose_texture(width, height, [Candidate(n, self.slots[n].width, self.slots[n].height) for n in free])
        if chosen is None:
            self.slots.append(Slot(width, height, item.dtype))
            self.makers.append(item)
            self.ids[id] = len(self.slots) - 1
            return len(self.slots) - 1
        number, old = chosen.key, self.slots[chosen.key]
        self.free.erase(self._id(number))
        if (chosen.width, chosen.height) != (old.width, old.height):
            self.slots[number] = Slot(chosen.width, chosen.height, item.dtype)
            self.makers[number] = item
        return number

    def give(self, number: int) -> None:
        self.free.insert(self._id(number))

    def _id(self, number: int) -> int:
        return next(id for id, texture in self.ids.items() if texture == number)


def texture_pool(problem: Problem) -> Allocation:
    """TVM's runtime texture pool (<= 0.19). It compares the dtype's code alone, so halves and singles mix.

    Such a mixture is a defect that `violations` names. Buffers, which this pool does not hold, get a storage each.
    """
    pool = Pool2D(like=lambda made, item: np.dtype(made.dtype).kind == np.dtype(item.dtype).kind, free=ReleaseOrder())
    return _plan_mixed("texture-pool", problem, pool, {})


def relay_1d2d(problem: Problem) -> Allocation:
    """Relay's graph planner: buffers by the one-dimensional rule whatever their dtype, textures of equal dtype and scope.

    It goes through free textures as libstdc++ through a set of the storages' numbers. Relay also numbers inputs and constants,
    which a problem does not have.
    """
    pool = Pool2D(like=lambda made, item: (made.dtype, made.scope) == (item.dtype, item.scope), free=UnorderedSet())
    return _plan_mixed("relay-1d2d", problem, pool, {common_scope(item.scope): Pool1D() for item in problem.items})


def _plan_mixed(name: str, problem: Problem, textures: Pool2D, buffers: dict[str, Pool1D]) -> Allocation:
    """Textures from `textures`, buffers from their scope's pool, or without one each its own storage."""
    items = problem.items
    pool_slots: list[tuple[str, int]] = [("", -1)] * len(items)
    alone: dict[int, int] = {}

    def allocate(number: int) -> None:
        item = items[number]
        scope = common_scope(item.scope)
        if item.is_texture:
            made = len(textures.slots) + sum(len(pool.sizes) for pool in buffers.values())
            pool_slots[number] = ("2d", textures.take(item, made))
        elif scope in buffers:
            pool_slots[number] = (scope, buffers[scope].take(item.size))
        else:
            alone[number] = item.size
            pool_slots[number] = ("alone", number)

    def release(number: int) -> None:
        kind, storage = pool_slots[number]
        if kind == "2d":
            textures.give(storage)
        elif kind in buffers:
            buffers[kind].give(storage)

    replay(items, allocate, release)
    numbers: dict[tuple[str, int], int] = {}
    storage_of = tuple(numbers.setdefault(slot, len(numbers)) for slot in pool_slots)
    slots = {number: textures.slots[index] for (kind, index), number in numbers.items() if kind == "2d"}

    def nbytes(key: tuple[str, int]) -> int:
        kind, index = key
        if kind == "2d":
            slot = textures.slots[index]
            return problem.slot_bytes(slot.width, slot.height, slot.dtype)
        return alone[index] if kind == "alone" else buffers[kind].sizes[index]

    return Allocation(name, problem, tuple(map(nbytes, numbers)), storage_of, (0,) * len(items), slots)
