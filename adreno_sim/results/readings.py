"""Which readings of OpenCL a launch was run under, and which cannot matter to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TriedReading:
    """One choice of a reading under which a launch ran. present: the choice of the device at hand. differs: it changed what the
    launch leaves."""

    reading: str
    present: str
    choice: str
    differs: bool


@dataclass(frozen=True)
class LeftOutReading:
    """A reading under which a launch did not run, or of which nothing follows, and why."""

    reading: str
    reason: str


@dataclass
class ReadingsReport:
    """tried, left_out: in the order of the table. launches: how many there were in all, beside the launch itself; seconds: what
    they took together."""

    tried: list[TriedReading] = field(default_factory=list)
    left_out: list[LeftOutReading] = field(default_factory=list)
    launches: int = 0
    seconds: float = 0.0

    def leave_out(self, readings: Iterable[str], reason: str) -> None:
        """Note readings that were not tried, by name."""
        self.left_out += [LeftOutReading(reading, reason) for reading in readings]

    def lines(self) -> list[str]:
        """The report in words, a line each."""
        if not self.tried and not self.left_out:
            return []
        differing = sum(one.differs for one in self.tried)
        said = f"{len(self.tried)} tried, {differing} of them {'changes' if differing == 1 else 'change'} what the launch leaves"
        lines = [f"readings: {said} ({self.launches} more launches)"]
        same = (one for one in self.tried if not one.differs)
        lines += [f"reading {one.reading}: no difference between {one.present} and {one.choice}" for one in same]
        return lines + [f"reading {one.reading}: not tried: {one.reason}" for one in self.left_out]
