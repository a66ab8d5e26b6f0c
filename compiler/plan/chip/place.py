"""Chooses which tensors are on the chip, and where: the most traffic that a room of fixed size keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from ....base.alignment import align_up
from ....records import dataclass
from ..problem import Item

_ORDERS: tuple[Callable[[Item], tuple[float, ...]], ...] = (
    lambda item: (-item.traffic,),
    lambda item: (-item.traffic / item.size, -item.size),
    lambda item: (-item.traffic / (item.size * (item.end - item.start)), -item.size),
    lambda item: (item.size,),
    lambda item: (item.end - item.start, -item.traffic),
    lambda item: (item.start, -item.size),
)
"""Orders in which tensors are offered a place; the one that keeps most traffic counts."""

_ROUNDS = 8
"""How often the tensors without a place are offered one at the cost of others."""


def may_lie_on_chip(item: Item, room: int) -> bool:
    """Whether a tensor may be on the chip at all: one recording has its accesses, it is a buffer, and it fits."""
    return bool(item.recording) and not item.is_texture and item.size <= room


def choose(items: Sequence[Item], room: int) -> dict[int, int]:
    """Number of each chosen item -> its offset. Items that live at one time lie apart, below `room` bytes. Deterministic."""
    wanted = [number for number, item in enumerate(items) if may_lie_on_chip(item, room)]
    meets = _meetings(items, wanted)
    best = _Places(items, room, meets)
    for key in _ORDERS:
        places = _Places(items, room, meets)
        for number in sorted(wanted, key=lambda number, key=key: (*key(items[number]), number)):  # type: ignore[misc]
            places.put(number)
        places.exchange(wanted)
        if places.traffic > best.traffic:
            best = places
    return dict(sorted(best.offsets.items()))


def _meetings(items: Sequence[Item], wanted: Sequence[int]) -> dict[int, list[int]]:
    """Of each item those that live at a time when it does."""
    found: dict[int, list[int]] = {number: [] for number in wanted}
    live: list[int] = []
    for number in sorted(wanted, key=lambda number: (items[number].start, number)):
        live = [other for other in live if items[other].end > items[number].start]
        for other in live:
            found[number].append(other)
            found[other].append(number)
        live.append(number)
    return found


@dataclass
class _Places:
    """The places given so far, and the traffic of the items that have one."""

    items: Sequence[Item]
    room: int
    meets: Mapping[int, Sequence[int]]
    offsets: dict[int, int] = field(default_factory=dict)
    traffic: int = 0

    def put(self, number: int) -> bool:
        """Place an item in the smallest gap that holds it, if there is one."""
        item = self.items[number]
        best: tuple[int, int] | None = None
        for low, high in self._gaps(number):
            start = align_up(low, item.alignment)
            if start + item.size <= high and (best is None or (high - low, start) < best):
                best = high - low, start
        if best is None:
            return False
        self.offsets[number] = best[1]
        self.traffic += item.traffic
        return True

    def exchange(self, wanted: Sequence[int]) -> None:
        """Give items without a place the places of others that move less together; those are then offered what is left."""
        for _ in range(_ROUNDS):
            before = self.traffic
            left = [number for number in wanted if number not in self.offsets]
            for number in sorted(left, key=lambda number: (-self.items[number].traffic, number)):
                self._exchange_one(number)
            if self.traffic == before:
                return

    def _exchange_one(self, number: int) -> None:
        item = self.items[number]
        around = [other for other in self.meets[number] if other in self.offsets]
        ends = {align_up(self.offsets[other] + self.items[other].size, item.alignment) for other in around}
        found: tuple[int, int, list[int]] | None = None
        for start in sorted({0, *ends, *(self.offsets[other] for other in around)}):
            if start % item.alignment or start + item.size > self.room:
                continue
            gone = [o for o in around if self.offsets[o] < start + item.size and start < self.offsets[o] + self.items[o].size]
            cost = sum(self.items[other].traffic for other in gone)
            if cost < item.traffic and (found is None or (cost, start) < found[:2]):
                found = cost, start, gone
        if found is None:
            return
        cost, start, gone = found
        for other in gone:
            del self.offsets[other]
        self.offsets[number] = start
        self.traffic += item.traffic - cost
        for other in sorted(gone, key=lambda other: (-self.items[other].traffic, other)):
            self.put(other)

    def _gaps(self, number: int) -> list[tuple[int, int]]:
        """Free bytes [low, high) while an item lives, in order."""
        taken = sorted((self.offsets[other], self.items[other].size) for other in self.meets[number] if other in self.offsets)
        gaps, low = [], 0
        for start, size in taken:
            if start > low:
                gaps.append((low, start))
            low = max(low, start + size)
        return [*gaps, (low, self.room)] if low < self.room else gaps
