"""This project's planner: offsets in one arena, or in several where one would be larger than the device allocates."""

from __future__ import annotations

import numpy as np

from ....base.alignment import align_up
from ....base.errors import AdrenoSimError
from ..allocation import Allocation
from ..problem import Item, Problem
from ..search.improve import Effort, lowest_placement
from ..search.instance import Instance, Ints, common_unit


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
        storage_of, offsets = _several(instance, offsets, most // instance.unit, effort or Effort())
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


def _several(instance: Instance, offsets: Ints, most: int, effort: Effort) -> tuple[Ints, Ints]:
    """(arena, offset) of every item, no arena above `most` units.

    What ends below `most` stays in the first arena; the rest is placed anew in the next, and so on.
    """
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
