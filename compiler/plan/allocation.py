"""What a planner answers: storages, and for every tensor its storage and offset; and whether that is valid."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from ...base.alignment import align_up
from ...records import dataclass
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
    runtime, of one tensor each, which exist only while that lives. on_chip: storages that are
    on-chip memory, one at most; they take nothing of the device's. bound: bytes the planner proved no plan can
    go below, where it proved any. unit: sizes count in multiples of it. note: what a reader must know.
    """

    planner: str
    problem: Problem
    storages: tuple[int, ...]
    storage_of: tuple[int, ...]
    offsets: tuple[int, ...]
    slots: dict[int, Slot] = field(default_factory=dict)
    unplanned: frozenset[int] = frozenset()
    on_chip: frozenset[int] = frozenset()
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
        pairs = enumerate(zip(self.spans, sizes, strict=True))
        return peak_at((*span, size) for number, (span, size) in pairs if number not in self.on_chip)

    def in_memory(self) -> Allocation:
        """The part of it that is in the device's memory; itself where that is all."""
        if not self.on_chip:
            return self
        stay = [n for n, storage in enumerate(self.storage_of) if storage not in self.on_chip]
        left = [n for n in range(len(self.storages)) if n not in self.on_chip]
        renumbered = {old: new for new, old in enumerate(left)}
        return replace(
            self,
            problem=replace(self.problem, items=tuple(self.problem.items[n] for n in stay)),
            storages=tuple(self.storages[n] for n in left),
            storage_of=tuple(renumbered[self.storage_of[n]] for n in stay),
            offsets=tuple(self.offsets[n] for n in stay),
            slots={renumbered[n]: slot for n, slot in self.slots.items() if n in renumbered},
            unplanned=frozenset(renumbered[n] for n in self.unplanned if n in renumbered),
            on_chip=frozenset(),
        )

    @property
    def chip_items(self) -> list[Item]:
        """The tensors that are on the chip."""
        pairs = zip(self.problem.items, self.storage_of, strict=True)
        return [item for item, storage in pairs if storage in self.on_chip]

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
        return found + list(self._chip_errors())

    def _chip_errors(self) -> Iterator[str]:
        """What on-chip memory does not allow: see `device.on_chip`."""
        if len(self.on_chip) > 1:
            yield f"{len(self.on_chip)} storages on the chip: there is one"
        for number in self.on_chip:
            if self.storages[number] > self.problem.on_chip:
                yield f"storage {number} on the chip has {self.storages[number]} bytes: there are {self.problem.on_chip}"
        for item in self.chip_items:
            if not item.recording:
                yield f"{item.id}: lies on the chip, but no recording has all its accesses"
            elif item.is_texture:
                yield f"{item.id}: a texture on the chip: how images lie there is in no public text"

    def _placement_errors(self, number: int) -> list[str]:
        item, storage, offset = self.problem.items[number], self.storage_of[number], self.offsets[number]
        if not 0 <= storage < len(self.storages):
            return [f"{item.id}: storage {storage} does not exist"]
        found = []
        if offset < 0 or (offset % item.alignment and storage not in self.on_chip):
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
