"""What the counters of a kernel mean: the operations of each segment, and the places that access memory or branch."""

from __future__ import annotations

from dataclasses import field

from ...records import dataclass
from . import counting


@dataclass(frozen=True)
class CountedSite:
    """A place of the kernel with a record in the counter block. One that accesses what only the run knows has several.

    target: what it accesses: the index of an argument, "local", "private" or "constant"; "" for a branch. where: in the
    source. nbytes: of each access; None if they vary, and the record has them. segment: the number of a branch's.
    """

    target: int | str = ""
    reads: bool = False
    writes: bool = False
    where: str = ""
    nbytes: int | None = None
    segment: int = 0


@dataclass
class CountTable:
    """operations: of one execution of each segment, by type; chains: its longest chain of arithmetic; waits: of
    reads of memory; slow: multiply-adds that its slow functions cost. places: in the order of their records."""

    operations: list[dict[str, int]] = field(default_factory=list)
    chains: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    slow: list[int] = field(default_factory=list)
    places: list[CountedSite] = field(default_factory=list)

    @property
    def first_place(self) -> int:
        """The word of the counter block at which the records of places begin."""
        return counting.COUNT_HEAD + len(self.operations)

    @property
    def words(self) -> int:
        """The words of the counter block."""
        return self.first_place + len(self.places) * counting.PLACE_WORDS

    def add(self, *places: CountedSite) -> int:
        """Adds places. Returns the word of the record of the first."""
        at = self.words
        self.places += places
        return at
