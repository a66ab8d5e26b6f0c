"""What a counted launch did: figures of the program and its NDRange, and of the waves that a device would run it in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ..records import dataclass


@dataclass(frozen=True)
class MemoryCounters:
    """Accesses to one argument ("buffer", "image"), or to all memory of a kind ("local", "private", "constant": data of the
    program). Figures without a wave are exact.

    reads, writes: accesses by work-items; texels of an image. An atomic counts as both. unique_*: distinct bytes; None if
    memory is not shared by the launch. texel_bytes: of an image, else 0.

    Of the waves that were traced: traced: accesses by work-items; held: reads that are not among these, because the work-item had
    just read the same (only in samples of groups); wave_accesses: by waves; transactions: distinct cache lines
    that they touched, passes in local memory; least: the fewest that as many distinct bytes need. wave_reads, wave_lines
    (arguments): reads, and distinct lines that a wave reads from its first instruction to its last, added over the waves.
    """

    name: str
    kind: str
    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    unique_read_bytes: int | None = None
    unique_written_bytes: int | None = None
    unique_bytes: int | None = None
    texel_bytes: int = 0
    traced: int = 0
    held: int = 0
    wave_accesses: int = 0
    transactions: int = 0
    least: int = 0
    wave_reads: int = 0
    wave_lines: int = 0

    @property
    def key(self) -> object:
        return self.name, self.kind

    def scale(self, traced: float) -> float:
        """A figure of the accesses that were traced as one of all accesses; those held in registers do nothing."""
        return traced * (self.reads + self.writes) / max(1, self.traced + self.held)

    def __add__(self, other: MemoryCounters) -> MemoryCounters:
        """The figures of both; unique bytes are those of each launch, added."""
        known = [name for name in (*_ADDED, *_UNIQUE) if getattr(self, name) is not None]
        added: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in known}
        return replace(self, **added)


_ADDED = (
    "reads", "writes", "read_bytes", "written_bytes", "traced", "held", "wave_accesses", "transactions", "least", "wave_reads",
    "wave_lines",
)  # fmt: skip
_UNIQUE = ("unique_read_bytes", "unique_written_bytes", "unique_bytes")


@dataclass(frozen=True)
class PlaceCounters:
    """One instruction that accesses memory or branches, by the waves that were traced.

    place: line:column, and the lines of the calls through which an inlined helper came. access: "read", "write", "atomic" or
    "branch". name: the memory, as of MemoryCounters. executed: by waves; transactions, least: as of MemoryCounters, of a branch
    how often it was divergent, and 0.
    """

    place: str
    access: str
    name: str
    executed: int
    transactions: int
    least: int

    @property
    def key(self) -> object:
        return self.place, self.access, self.name

    def __add__(self, other: PlaceCounters) -> PlaceCounters:
        """The figures of both, which are of one place."""
        executed, transactions = self.executed + other.executed, self.transactions + other.transactions
        return replace(self, executed=executed, transactions=transactions, least=self.least + other.least)


@dataclass(frozen=True)
class LaunchCounters:
    """The counters of one launch, or of several that were added.

    operations: by type, added over work-items. unique_*: distinct bytes of buffers and images, each once though several
    arguments show it. barriers: that groups executed, added over groups. branches: executed by work-items, with two ways to go.
    chained: operations on floats that wait for the one before, in the longest chain of each iteration, added over work-items;
    awaited: reads of global memory and of images, added in the same way, those that wait together as one.
    slow: multiply-adds that functions cost which Adreno has not, added over work-items.

    traced_groups, traced_waves: those that figures of waves are of; a wave is `wave_size` work-items of consecutive local ids.
    traced_branches, wave_branches: of the branches, by work-items and by waves; divergent: work-items of a wave went several
    ways. places: where, in the order of the code.
    """

    work_items: int
    groups: int
    operations: dict[str, int]
    memory: tuple[MemoryCounters, ...]
    unique_read_bytes: int
    unique_written_bytes: int
    unique_bytes: int
    barriers: int
    branches: int
    wave_size: int
    line_bytes: int
    traced_groups: int
    traced_waves: int
    traced_branches: int
    wave_branches: int
    divergent: int
    places: tuple[PlaceCounters, ...] = ()
    launches: int = 1
    chained: int = 0
    awaited: int = 0
    slow: int = 0

    def __add__(self, other: LaunchCounters) -> LaunchCounters:
        """The counters of the launches of both, which are of one kernel on one device."""
        memory, places = _merge(self.memory, other.memory), _merge(self.places, other.places)
        operations = {name: self.operations.get(name, 0) + other.operations.get(name, 0) for name in _names(self, other)}
        added: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in _OF_LAUNCHES}
        return replace(self, operations=operations, memory=memory, places=places, **added)


_OF_LAUNCHES = (
    "work_items", "groups", "unique_read_bytes", "unique_written_bytes", "unique_bytes", "barriers", "branches", "traced_groups",
    "traced_waves", "traced_branches", "wave_branches", "divergent", "launches", "chained", "awaited", "slow",
)  # fmt: skip


class _Row(Protocol):
    @property
    def key(self) -> object: ...
    def __add__(self: Row, other: Row) -> Row: ...


Row = TypeVar("Row", bound=_Row)


def _merge(first: Iterable[Row], second: Iterable[Row]) -> tuple[Row, ...]:
    """Adds rows with the same key; others stay unchanged."""
    merged: dict[object, Row] = {}
    for row in (*first, *second):
        known = merged.get(row.key)
        merged[row.key] = row if known is None else known + row
    return tuple(merged.values())


def add_places(places: Iterable[PlaceCounters]) -> tuple[PlaceCounters, ...]:
    """Adds those of the same place, access and memory: code that was inlined twice."""
    return _merge(places, ())


def _names(first: LaunchCounters, second: LaunchCounters) -> list[str]:
    return list(dict.fromkeys([*first.operations, *second.operations]))
