"""What a planner answers: storages, and for every tensor its storage and offset; and whether that is valid."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base.alignment import align_up
from .problem import Item, Problem
from .spans import Span, call_span, peak_at


@dataclass(frozen=True)
class Slot:
    """A two-dimensional texture that serves several tensors: extents in texels, dtype of its channels."""

    width: int
    height: int
    dtype: str


@dataclass(frozen=True)
class Allocation:
    """A plan for `problem`: item i starts at byte offsets[i] of storage storage_of[i]; storages[n] is the size of storage n.

    slots: the textures behind storages that are one (storage number -> Slot). unplanned: storages that the planner leaves to the
    runtime, of one tensor each, which exist only while that lives. bound: bytes the planner proved no plan can
    go below, where it proved any. unit: sizes count in multiples of it. note: what a reader must know.
    """

    planner: str
    problem: Problem
    storages: tuple[int, ...]
    storage_of: tuple[int, ...]
    offsets: tuple[int, ...]
    slots: dict[int, Slot] = field(default_factory=dict)
    unplanned: frozenset[int] = frozenset()
    bound: int | None = None
    unit: int = 1
    note: str = ""

    @property
    def total(self) -> int:
        """The most bytes that storages take at one time; planned ones count for as long as their function runs."""
        return self.at_peak[0]

    @property
    def planned(self) -> int:
        """Of `total`, bytes of storages that the planner placed."""
        return self.total - self.left_to_runtime

    @property
    def left_to_runtime(self) -> int:
        """Of `total`, bytes of storages that the planner left alone."""
        when = self.at_peak[1]
        return sum(self.storages[n] for n in self.unplanned if self.spans[n][0] <= when < self.spans[n][1])

    @cached_property
    def at_peak(self) -> tuple[int, int]:
        """`total`, and the first time when storages take that."""
        return self.most(self.storages)

    def most(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The most that storages take at one time if these were their sizes, and when."""
        return peak_at((*span, size) for span, size in zip(self.spans, sizes, strict=True))

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """When each storage counts."""
        calls: list[set[tuple[int, ...]]] = [set() for _ in self.storages]
        alone: dict[int, Span] = {}
        for item, storage in zip(self.problem.items, self.storage_of, strict=True):
            if 0 <= storage < len(calls):
                calls[storage].add(item.call)
                alone[storage] = (item.start, item.end)
        return tuple(alone[n] if n in self.unplanned else call_span(made) for n, made in enumerate(calls))

    @property
    def needed(self) -> tuple[int, ...]:
        """Bytes of each storage that its tensors take up at right sizes (the whole of a texture that serves several)."""
        sizes = [0] * len(self.storages)
        for item, storage, offset in zip(self.problem.items, self.storage_of, self.offsets, strict=True):
            sizes[storage] = max(sizes[storage], offset + align_up(item.size, self.unit))
        return tuple(self.storages[number] if number in self.slots else size for number, size in enumerate(sizes))

    def violations(self) -> list[str]:
        """What is wrong, in words, tensors by name: one sentence each; empty for a valid plan."""
        found = [message for number in range(len(self.problem.items)) for message in self._placement_errors(number)]
        members: dict[int, list[int]] = {}
        for number, storage in enumerate(self.storage_of):
            members.setdefault(storage, []).append(number)
        for storage, inside in members.items():
            found += self._overlaps(storage, inside)
        return found

    def _placement_errors(self, number: int) -> list[str]:
        item, storage, offset = self.problem.items[number], self.storage_of[number], self.offsets[number]
        if not 0 <= storage < len(self.storages):
            return [f"{item.id}: storage {storage} does not exist"]
        found = []
        if offset < 0 or offset % item.alignment:
            found.append(f"{item.id}: offset {offset} is not a multiple of {item.alignment}")
        slot = self.slots.get(storage)
        if slot is None and offset + item.size > self.storages[storage]:
            end = offset + item.size
            found.append(f"{item.id}: ends at byte {end} of storage {storage}, which has {self.storages[storage]}")
        if slot is not None and not _fits(item, slot):
            found.append(f"{item.id}: does not fit the {slot.width} x {slot.height} {slot.dtype} texture of storage {storage}")
        return found

    def _overlaps(self, storage: int, inside: list[int]) -> list[str]:
        """Pairs live at one time whose bytes meet; of a valid set of live tensors only neighbours can meet."""
        items, found = self.problem.items, []
        by_end = sorted(inside, key=lambda number: items[number].end)
        live: list[tuple[int, int]] = []
        done = 0
        for number in sorted(inside, key=lambda number: (items[number].start, number)):
            while items[by_end[done]].end <= items[number].start:
                gone = by_end[done]
                index = bisect_left(live, (self.offsets[gone], gone))
                if index < len(live) and live[index] == (self.offsets[gone], gone):
                    del live[index]
                done += 1
            index = bisect_left(live, (self.offsets[number], number))
            for _, other in live[max(index - 1, 0) : index + 1]:
                if self._lives_overlap(storage, number, other):
                    found.append(f"{items[other].id} and {items[number].id} are live at one time in the same bytes")
            insort(live, (self.offsets[number], number))
        return found

    def _lives_overlap(self, storage: int, a: int, b: int) -> bool:
        first, second = sorted((a, b), key=lambda number: self.offsets[number])
        return storage in self.slots or self.offsets[first] + self.problem.items[first].size > self.offsets[second]


def _fits(item: Item, slot: Slot) -> bool:
    width, height = item.extent
    same = np.dtype(item.dtype).itemsize <= np.dtype(slot.dtype).itemsize
    return same and width <= slot.width and height <= slot.height
