"""TFLite's GPU planners (Pisarchyk and Lee, 2020): shared objects, and an arena of offsets.

Tasks are instants: a tensor live on [start, end) is used by the tasks start to end - 1. Ties that the original leaves to
an unstable sort go to the tensor defined first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....base.errors import UnsupportedError
from ..allocation import Allocation
from ..problem import Item, Problem

MOST_ITEMS = 10_000
"""Shared objects compare every tensor with every object; beyond this many tensors that takes minutes."""

_NEVER = np.iinfo(np.int64).max


def tflite(problem: Problem) -> Allocation:
    """The better of shared objects and arena, as TFLite takes them: the arena where it is smaller and one allocation holds it."""
    objects, arena = tflite_objects(problem), tflite_arena(problem)
    fits = problem.max_allocation is None or arena.total <= problem.max_allocation
    return replace(arena if arena.total < objects.total and fits else objects, planner="tflite")


def tflite_objects(problem: Problem) -> Allocation:
    """The better of the two ways to share objects; by size where they are equal."""
    by_size, by_breadth = tflite_size(problem), tflite_breadth(problem)
    return replace(by_breadth if by_breadth.total < by_size.total else by_size, planner="tflite-objects")


def tflite_arena(problem: Problem) -> Allocation:
    """Offsets, largest tensor first, each into the smallest gap between live neighbours that holds it."""
    from ..search.firstfit import place_in_order
    from ..search.instance import Instance

    items = problem.items
    order = sorted(range(len(items)), key=lambda number: -items[number].size)
    offsets = place_in_order(Instance.of(items, unit=1), np.array(order, np.int64), best_fit=True)
    total = max((int(offset) + item.size for offset, item in zip(offsets, items, strict=True)), default=0)
    storages = (total,) if items else ()
    return Allocation("tflite-arena", problem, storages, (0,) * len(items), tuple(int(offset) for offset in offsets))


def tflite_breadth(problem: Problem) -> Allocation:
    """Shared objects, tasks in order of the bytes they use, at each task the largest tensor first."""
    _check_count("tflite-breadth", problem)
    items = problem.items
    objects: list[int] = []
    members: list[list[Item]] = []
    object_of = [-1] * len(items)
    for task in _by_breadth(items):
        for number in task:
            if object_of[number] < 0:
                object_of[number] = _share(items[number], objects, members)
    return Allocation("tflite-breadth", problem, tuple(objects), tuple(object_of), (0,) * len(items))


def _by_breadth(items: tuple[Item, ...]) -> list[list[int]]:
    """The tensors of each task, largest first; the task with most bytes first.

    Only tasks that a tensor starts at: those between use a part of the same tensors.
    """
    tasks: list[list[int]] = []
    live: list[tuple[int, int]] = []
    ends = sorted((item.end, -item.size, number) for number, item in enumerate(items))
    starts = sorted((item.start, -item.size, number) for number, item in enumerate(items))
    done = 0
    for index, (time, size, number) in enumerate(starts):
        while ends[done][0] <= time:
            del live[bisect_left(live, ends[done][1:])]
            done += 1
        insort(live, (size, number))
        if index + 1 == len(starts) or starts[index + 1][0] > time:
            tasks.append([number for _, number in live])
    return sorted(tasks, key=lambda task: -sum(items[number].size for number in task))


def _share(item: Item, objects: list[int], members: list[list[Item]]) -> int:
    """The free object that holds the item and is smallest, else the largest below, which grows; else a new one."""
    best = -1
    for number, size in enumerate(objects):
        if best >= 0 and not _better(size, objects[best], item.size):
            continue
        if all(other.end <= item.start or item.end <= other.start for other in members[number]):
            best = number
    if best < 0:
        objects.append(item.size)
        members.append([item])
        return len(objects) - 1
    objects[best] = max(objects[best], item.size)
    members[best].append(item)
    return best


def _better(size: int, best: int, wanted: int) -> bool:
    if best < wanted:
        return size > best
    return wanted <= size < best


def tflite_size(problem: Problem) -> Allocation:
    """Shared objects by positional maximum, then distance in time to an object's tensors, then size.

    The k-th positional maximum is the most bytes that any task's k-th largest tensor has. A tensor's position is the last
    maximum not below its size. Next is the tensor of lowest position, then nearest to an object, then largest; it goes into
    the object nearest in time, which may grow.
    """
    _check_count("tflite-size", problem)
    items = problem.items
    state = _Sharing(items)
    while (number := state.next()) >= 0:
        state.assign(number)
    return Allocation("tflite-size", problem, tuple(state.objects), tuple(state.object_of.tolist()), (0,) * len(items))


class _Sharing:
    """Tensors not assigned yet, with each one's distance to every object (_NEVER where it overlaps a member)."""

    def __init__(self, items: tuple[Item, ...]):
        self.first = np.array([item.start for item in items], np.int64)
        self.last = np.array([item.last for item in items], np.int64)
        self.size = np.array([item.size for item in items], np.int64)
        maxima = _positional_maxima(items)
        self.position = np.searchsorted(-maxima, -self.size, side="right") - 1
        self.object_of = np.full(len(items), -1, np.int64)
        self.objects: list[int] = []
        self.distance: list[NDArray[np.int64]] = []
        self.best = np.full(len(items), _NEVER, np.int64)
        self.best_object = np.full(len(items), -1, np.int64)

    def next(self) -> int:
        """The unassigned tensor of highest priority, -1 where none is left."""
        left = np.flatnonzero(self.object_of < 0)
        for key in (self.position, self.best, -self.size):
            left = left[key[left] == key[left].min()] if left.size else left
        return int(left[0]) if left.size else -1

    def assign(self, number: int) -> None:
        new = self.best[number] == _NEVER
        chosen = len(self.objects) if new else int(self.best_object[number])
        if new:
            self.objects.append(0)
            self.distance.append(np.full(len(self.size), _NEVER - 1, np.int64))
        self.objects[chosen] = max(self.objects[chosen], int(self.size[number]))
        self.object_of[number] = chosen
        self._update(chosen, self._distances(number))

    def _distances(self, number: int) -> NDArray[np.int64]:
        before = self.first[number] - self.last
        after = self.first - self.last[number]
        return np.where(before > 0, before, np.where(after > 0, after, _NEVER))

    def _update(self, chosen: int, distance: NDArray[np.int64]) -> None:
        """Take in a new member of object `chosen`, at `distance` from every tensor."""
        old = self.distance[chosen]
        self.distance[chosen] = np.where((old == _NEVER) | (distance == _NEVER), _NEVER, np.minimum(old, distance))
        lost = (self.object_of < 0) & (self.best_object == chosen) & (self.distance[chosen] == _NEVER)
        nearer = (old != _NEVER) & (distance < self.best)
        self.best[nearer] = distance[nearer]
        self.best_object[nearer] = chosen
        for number in np.flatnonzero(lost):
            column = np.array([row[number] for row in self.distance])
            self.best_object[number] = int(column.argmin())
            self.best[number] = column.min()


def _positional_maxima(items: tuple[Item, ...]) -> NDArray[np.int64]:
    maxima: list[int] = []
    for task in _by_breadth(items):
        sizes = [items[number].size for number in task]
        maxima += sizes[len(maxima) :]
        maxima[: len(sizes)] = [max(pair) for pair in zip(maxima, sizes, strict=False)]
    return np.array(maxima, np.int64)


def _check_count(name: str, problem: Problem) -> None:
    if len(problem.items) > MOST_ITEMS:
        raise UnsupportedError(f"planner {name}: {len(problem.items)} tensors: shared objects are for at most {MOST_ITEMS}")
