"""Planners that keep textures two-dimensional: TVM's legacy runtime pool and Relay's graph planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..allocation import Allocation, Slot
from ..problem import Item, Problem
from .pools import Candidate, Pool1D, choose_texture, common_scope, replay


@dataclass
class Pool2D:
    """Textures, some of them free. `like` says whether a free texture, last made for `items[...]`, may serve an item.

    by_number: the free ones are looked at in the order of their making, else in the order of their release.
    """

    like: Callable[[Item, Item], bool]
    by_number: bool
    slots: list[Slot] = field(default_factory=list)
    makers: list[Item] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    def take(self, item: Item) -> int:
        """The texture for `item`: a free one, made larger where needed and then of the item's dtype, else a new one."""
        width, height = item.extent
        free = [number for number in self.free if self.like(self.makers[number], item)]
        chosen = choose_texture(width, height, [Candidate(n, self.slots[n].width, self.slots[n].height) for n in free])
        if chosen is None:
            self.slots.append(Slot(width, height, item.dtype))
            self.makers.append(item)
            return len(self.slots) - 1
        number, old = chosen.key, self.slots[chosen.key]
        self.free.remove(number)
        if (chosen.width, chosen.height) != (old.width, old.height):
            self.slots[number] = Slot(chosen.width, chosen.height, item.dtype)
            self.makers[number] = item
        return number

    def give(self, number: int) -> None:
        self.free.append(number)
        if self.by_number:
            self.free.sort()


def texture_pool(problem: Problem) -> Allocation:
    """TVM's runtime texture pool (<= 0.19). It looks at the dtype's code alone, so halves and singles mix.

    Such a mixture is a defect that `violations` names. Buffers, which this pool does not hold, get a storage each.
    """
    pool = Pool2D(like=lambda made, item: np.dtype(made.dtype).kind == np.dtype(item.dtype).kind, by_number=False)
    return _plan_mixed("texture-pool", problem, pool, {})


def relay_1d2d(problem: Problem) -> Allocation:
    """Relay's graph planner: buffers by the one-dimensional rule whatever their dtype, textures of equal dtype and scope."""
    pool = Pool2D(like=lambda made, item: (made.dtype, made.scope) == (item.dtype, item.scope), by_number=True)
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
            pool_slots[number] = ("2d", textures.take(item))
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
