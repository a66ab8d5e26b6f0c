"""This project's planner: offsets in one arena, or in several where one would be larger than the device allocates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ....base.alignment import align_up
from ....base.errors import AdrenoSimError
from ..allocation import Allocation
from ..problem import Item, Problem
from ..search import orders
from ..search.improve import Effort, lowest_placement
from ..search.instance import Instance, Ints, common_unit
from ..search.scan import place_by_scanning
from .tflite import MOST_ITEMS, tflite_breadth, tflite_size

FILLS = ("S", "CL", "TWA", "AS", "L")
"""Orders in which items are put into several storages."""

SEARCHED = 3
"""Of the ways to fill several storages, how many are searched further."""


def arena(problem: Problem, effort: Effort | None = None) -> Allocation:
    """Offsets found by several constructions and then by search, deterministic for a given effort.

    Stops at the live lower bound. Sizes count rounded up to the smallest alignment of the problem, as does the arena.
    Raises AdrenoSimError for a tensor larger than the largest allocation.
    """
    items = problem.items
    if not items:
        return Allocation("arena", problem, (), (), ())
    _check_sizes(problem)
    instance = Instance.of(items, common_unit(items, problem.unit))
    placed = lowest_placement(instance, effort or Effort())
    storage_of, offsets = np.zeros(len(items), np.int64), placed.offsets
    most = problem.max_allocation
    if most is not None and instance.peak(offsets) * instance.unit > most:
        storage_of, offsets = _several(problem, instance, offsets, most // instance.unit, effort or Effort())
    return _allocation(problem, instance, storage_of, offsets, placed.bound)


def _allocation(problem: Problem, instance: Instance, storage_of: Ints, offsets: Ints, bound: int) -> Allocation:
    peaks = np.zeros(int(storage_of.max()) + 1, np.int64)
    np.maximum.at(peaks, storage_of, offsets + instance.size)
    storages = tuple(int(peak) * instance.unit for peak in peaks)
    item_offsets = tuple(int(offset) * instance.unit for offset in offsets)
    proved = bound * instance.unit
    return Allocation("arena", problem, storages, tuple(map(int, storage_of)), item_offsets, bound=proved, unit=problem.unit)


def _check_sizes(problem: Problem) -> None:
    most = problem.max_allocation
    if most is None:
        return
    largest: Item = max(problem.items, key=lambda item: item.size)
    if align_up(largest.size, problem.unit) > most:
        raise AdrenoSimError(f"tensor {largest.id!r}: {largest.size} bytes, one allocation holds at most {most}")


def _several(problem: Problem, instance: Instance, offsets: Ints, most: int, effort: Effort) -> tuple[Ints, Ints]:
    """(storage, offset) of every item, no storage above `most` units: the fewest units that one of three ways takes.

    The one arena cut where it reaches `most`; items put into storages one after the other, which are then searched each on its
    own; objects that items share in turn.
    """
    candidates = [_cut(instance, offsets, most, effort)]
    starts = [
        _fill_storages(instance, orders.order(instance, name), room)
        for room in sorted({most, *_even_rooms(instance, most)})
        for name in FILLS
    ]
    starts.sort(key=lambda placed: _units(instance, *placed))
    share = replace(effort, work=effort.work // SEARCHED)
    candidates += [_search_each(instance, storage_of, offsets, share) for storage_of, offsets in starts[:SEARCHED]]
    if len(problem.items) <= MOST_ITEMS:
        for objects in (tflite_size(problem), tflite_breadth(problem)):
            candidates.append((np.array(objects.storage_of, np.int64), np.zeros(len(instance), np.int64)))
    return min(candidates, key=lambda placed: _units(instance, *placed))


def _fill_storages(instance: Instance, order: Ints, room: int) -> tuple[Ints, Ints]:
    """(storage, offset) of every item: in `order`, at the lowest offset of the first storage that holds it in `room` units.

    No item may be larger than `room`.
    """
    storage_of, offsets = np.full(len(instance), -1, np.int64), np.zeros(len(instance), np.int64)
    left, number = order, 0
    while left.size:
        placed = place_by_scanning(instance, left, room)
        inside = left[placed[left] >= 0]
        storage_of[inside], offsets[inside] = number, placed[inside]
        left, number = left[placed[left] < 0], number + 1
    return storage_of, offsets


def _even_rooms(instance: Instance, most: int) -> Iterator[int]:
    """Rooms that storages would have if a few more of one size than are needed held everything."""
    least = -(-instance.bound // most)
    for count in range(least, least + 3):
        room = -(-instance.bound // count)
        if int(instance.size.max()) <= room <= most:
            yield room


def _units(instance: Instance, storage_of: Ints, offsets: Ints) -> int:
    peaks = np.zeros(int(storage_of.max()) + 1, np.int64)
    np.maximum.at(peaks, storage_of, offsets + instance.size)
    return int(peaks.sum())


def _search_each(instance: Instance, storage_of: Ints, offsets: Ints, effort: Effort) -> tuple[Ints, Ints]:
    """The storages each placed as low as a search finds."""
    offsets, count = offsets.copy(), int(storage_of.max()) + 1
    part_of = replace(effort, work=effort.work // count)
    for storage in range(count):
        inside = np.flatnonzero(storage_of == storage)
        part = instance.part(inside)
        found = lowest_placement(part, part_of).offsets
        if part.peak(found) < part.peak(offsets[inside]):
            offsets[inside] = found
    return storage_of, offsets


def _cut(instance: Instance, offsets: Ints, most: int, effort: Effort) -> tuple[Ints, Ints]:
    """What ends below `most` stays in the first arena; the rest is placed again in the next, and so on."""
    storage_of = np.zeros(len(instance), np.int64)
    offsets = offsets.copy()
    left = np.arange(len(instance))
    number = 0
    while (over := left[offsets[left] + instance.size[left] > most]).size:
        number += 1
        storage_of[over] = number
        offsets[over] = lowest_placement(instance.part(over), effort).offsets
        left = over
    return storage_of, offsets
