"""Which accesses of a launch race, from the list of them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .evaluate import Outcome
from .memories import Event


@dataclass(frozen=True)
class Touch:
    """An access to one unit of memory. same: a write that leaves it as it was."""

    item: int
    group: int
    line: int
    writes: bool
    interval: int
    value: int
    same: bool


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders: views and offsets of both. same: the value may stay the same."""

    places: tuple[tuple[str, int], tuple[str, int]]
    items: tuple[int, int]
    lines: tuple[int, int]
    writes: tuple[bool, bool]
    same: bool


def find_races(outcome: Outcome) -> list[Race]:
    """Every racing pair of work-items and lines, with the first byte; the same if all bytes stay the same."""
    by_room: dict[int, list[Event]] = {}
    for event in outcome.memories.events:
        by_room.setdefault(id(event.bound.room), []).append(event)
    found: list[Race] = []
    groups = outcome.memories.launch.linear["g"]
    for events in by_room.values():
        if any(event.writes for event in events):
            found += _races_of(events, groups)
    pairs: dict[object, Race] = {}
    for race in found:
        key = race.items, race.lines, race.writes
        known = pairs.setdefault(key, race)
        if known.same and not race.same:
            pairs[key] = race
    return list(pairs.values())


def _races_of(events: list[Event], groups: np.ndarray) -> Iterator[Race]:
    """Races of one room."""
    table = _Table.of(events, groups)
    for first, last in table.suspects():
        touched = [table.touch(at, events) for at in range(first, last)]
        writers = Counter(value for _, value in {(touch.item, touch.value) for touch in touched if touch.writes})
        for (n, a), (m, b) in combinations(enumerate(touched, first), 2):
            if _is_race(a, b):
                yield Race(
                    (table.place(n, events), table.place(m, events)),
                    (a.item, b.item),
                    (a.line, b.line),
                    (a.writes, b.writes),
                    _is_same(a, b) or any(touch.writes and writers[touch.value] > 1 for touch in (a, b)),
                )


@dataclass(frozen=True)
class _Table:
    """Accesses to each unit of a room, sorted by unit and interval: columns of arrays. number: of the event."""

    units: np.ndarray
    items: np.ndarray
    groups: np.ndarray
    intervals: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    before: np.ndarray
    writes: np.ndarray

    @staticmethod
    def of(events: list[Event], groups: np.ndarray) -> _Table:
        unit = _unit_of(events)
        rows = []
        for number, event in enumerate(events):
            parts = event.nbytes // unit
            units = (event.instances[:, None] << 32) + event.starts[:, None] + unit * np.arange(parts)
            before = np.ascontiguousarray(event.before).view(f"i{unit}").ravel()
            values = before if event.values is None else np.ascontiguousarray(event.values).view(f"i{unit}").ravel()
            items = np.repeat(event.items, parts)
            same = [np.full(units.size, n) for n in (event.interval, number, event.writes)]
            rows.append([units.ravel(), items, groups[items], same[0], same[1], values, before, same[2]])
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        order = np.lexsort((columns[3], columns[0]))
        return _Table(*(column[order] for column in columns))

    def suspects(self) -> list[tuple[int, int]]:
        """Rows of each unit that two groups access, or two work-items in one interval, and somebody writes."""
        change = self.units[1:] != self.units[:-1]
        begins = np.flatnonzero(np.r_[True, change])
        inner = np.flatnonzero(np.r_[True, change | (self.intervals[1:] != self.intervals[:-1])])
        near = _differ(self.items, inner) & np.logical_or.reduceat(self.writes, inner)
        far = _differ(self.groups, begins) & np.logical_or.reduceat(self.writes, begins)
        racing = far | np.logical_or.reduceat(near, np.searchsorted(inner, begins))
        ends = np.r_[begins[1:], len(self.units)]
        return list(zip(begins[racing].tolist(), ends[racing].tolist(), strict=True))

    def touch(self, at: int, events: list[Event]) -> Touch:
        value, before = int(self.values[at]), int(self.before[at])
        event = events[self.numbers[at]]
        return Touch(int(self.items[at]), int(self.groups[at]), event.line, event.writes, event.interval, value, value == before)

    def place(self, at: int, events: list[Event]) -> tuple[str, int]:
        bound = events[self.numbers[at]].bound
        return bound.name, int(self.units[at] & 0xFFFFFFFF) - bound.base


def _unit_of(events: list[Event]) -> int:
    """The largest of 1, 2, 4 and 8 bytes of which every access has whole ones."""
    return min(math.gcd(8, event.nbytes, *map(int, np.unique(event.starts & 7))) for event in events)


def _differ(column: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Whether the values in each segment are not all the same."""
    differ: np.ndarray = np.maximum.reduceat(column, begins) != np.minimum.reduceat(column, begins)
    return differ


def _is_race(a: Touch, b: Touch) -> bool:
    if a.item == b.item or not (a.writes or b.writes):
        return False
    return a.group != b.group or a.interval == b.interval


def _is_same(a: Touch, b: Touch) -> bool:
    """Whether the value may stay the same: both write the same, or the one that writes writes what was there."""
    if a.writes and b.writes:
        return a.value == b.value or a.same or b.same
    return a.same if a.writes else b.same
