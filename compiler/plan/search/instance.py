"""Items as arrays: times as section numbers, sizes in units of the alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....base.alignment import align_up
from ....records import dataclass
from ..problem import Item
from .machine_code import compiled

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Instance:
    """Item i is live in sections [start[i], end[i]), has size[i] units and an offset that is a multiple of align[i] units.

    A section is a stretch of time in which no item starts or ends. `unit` bytes are one unit; sizes are rounded up.
    """

    start: Ints
    end: Ints
    size: Ints
    align: Ints
    sections: int
    unit: int

    @staticmethod
    def of(items: Sequence[Item], unit: int) -> Instance:
        """The items in units of `unit` bytes, which divides every alignment or is a multiple of it."""
        times = np.unique(np.array([t for item in items for t in (item.start, item.end)], np.int64))
        return Instance(
            np.searchsorted(times, np.array([item.start for item in items], np.int64)),
            np.searchsorted(times, np.array([item.end for item in items], np.int64)),
            np.array([align_up(item.size, unit) // unit for item in items], np.int64),
            np.array([max(item.alignment // unit, 1) for item in items], np.int64),
            max(len(times) - 1, 0),
            unit,
        )

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def load(self) -> Ints:
        """Units live in each section."""
        change = np.zeros(self.sections + 1, np.int64)
        np.add.at(change, self.start, self.size)
        np.add.at(change, self.end, -self.size)
        return np.cumsum(change)[: self.sections]

    @property
    def bound(self) -> int:
        """Units no placement can do without."""
        return int(self.load.max()) if len(self) else 0

    @cached_property
    def overlaps(self) -> int:
        """How many pairs of items are live at one time."""
        starts = np.sort(self.start)
        later = np.searchsorted(starts, self.end, side="left").sum()
        return int(later - len(self) * (len(self) + 1) // 2)

    @cached_property
    def neighbours(self) -> tuple[Ints, NDArray[np.int32]]:
        """Row pointers and item numbers: the items live together with item i are numbers[rows[i]:rows[i + 1]]."""
        order = np.argsort(self.start, kind="stable")
        return _neighbours(order, self.start, self.end)

    def part(self, numbers: Ints) -> Instance:
        """Some of the items alone, with sections of their own."""
        times = np.unique(np.concatenate((self.start[numbers], self.end[numbers])))
        return Instance(
            np.searchsorted(times, self.start[numbers]),
            np.searchsorted(times, self.end[numbers]),
            self.size[numbers],
            self.align[numbers],
            len(times) - 1,
            self.unit,
        )

    def mirrored(self) -> Instance:
        """The same items with time running backwards; a placement of one is one of the other."""
        return replace(self, start=self.sections - self.end, end=self.sections - self.start)

    def canonical(self) -> tuple[Ints, bool]:
        """Item numbers in an order, and whether time is to run backwards, that neither the order of rows nor the direction
        of time changes: by start, end, size and alignment, in the direction in which that list is smaller."""
        keys = [(part.start, part.end, part.size, part.align) for part in (self, self.mirrored())]
        orders = [np.lexsort(key[::-1]) for key in keys]
        rows = [np.stack(key)[:, order].T.ravel() for key, order in zip(keys, orders, strict=True)]
        differ = np.flatnonzero(rows[0] != rows[1])
        backwards = bool(differ.size) and bool(rows[1][differ[0]] < rows[0][differ[0]])
        return orders[backwards], backwards

    def components(self) -> list[Ints]:
        """Item numbers in groups that share no time, in the order of time."""
        if not len(self):
            return []
        order = np.argsort(self.start, kind="stable")
        reach = np.maximum.accumulate(self.end[order])
        cuts = np.flatnonzero(self.start[order][1:] >= reach[:-1]) + 1
        return [np.sort(group) for group in np.split(order, cuts)]

    def peak(self, offsets: Ints) -> int:
        """Units a placement takes."""
        return int((offsets + self.size).max()) if len(self) else 0


def common_unit(items: Sequence[Item], unit: int) -> int:
    """The largest divisor of all sizes, rounded up to `unit` bytes, that divides every alignment or is a multiple of it.

    Counted in it, a search has fewer capacities to try, and no offset worth having is lost: each is a sum of sizes, aligned.
    """
    common = math.gcd(*(align_up(item.size, unit) for item in items))
    for alignment in sorted({item.alignment for item in items}, reverse=True):
        if alignment % common and common % alignment:
            common = math.gcd(common, alignment)
    return common or unit


@compiled
def _neighbours(order: Ints, start: Ints, end: Ints) -> tuple[Ints, NDArray[np.int32]]:
    n = len(order)
    rows = np.zeros(n + 1, np.int64)
    for a in range(n):
        i = order[a]
        b = a + 1
        while b < n and start[order[b]] < end[i]:
            rows[i + 1] += 1
            rows[order[b] + 1] += 1
            b += 1
    rows = np.cumsum(rows)
    numbers = np.empty(rows[n], np.int32)
    fill = rows[:n].copy()
    for a in range(n):
        i = order[a]
        b = a + 1
        while b < n and start[order[b]] < end[i]:
            j = order[b]
            numbers[fill[i]] = j
            numbers[fill[j]] = i
            fill[i] += 1
            fill[j] += 1
            b += 1
    return rows, numbers
