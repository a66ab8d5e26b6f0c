"""Which readings of OpenCL launches were run under, and which cannot matter to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ..records import dataclass


@dataclass(frozen=True)
class TriedReading:
    """One choice of a reading under which a launch ran. present: the choice of the given device. differs: it changed what the
    launch leaves."""

    kernel: str
    reading: str
    present: str
    choice: str
    differs: bool


@dataclass(frozen=True)
class LeftOutReading:
    """A reading under which a launch did not run, or whose run says nothing, and why."""

    kernel: str
    reading: str
    reason: str


@dataclass
class ReadingsReport:
    """tried, left_out: launch by launch, in the order of the table. launches: how many there were in all, beside those of the
    program itself; seconds: what they took together. repeated: launches of the program that were like one before them, and not
    tried again. kernel: whose launch it is, where it is one."""

    tried: list[TriedReading] = field(default_factory=list)
    left_out: list[LeftOutReading] = field(default_factory=list)
    launches: int = 0
    seconds: float = 0.0
    repeated: int = 0
    kernel: str = ""

    def add(self, other: ReadingsReport) -> None:
        """Add what was tried of another launch."""
        self.tried += other.tried
        self.left_out += other.left_out
        self.launches += other.launches
        self.seconds += other.seconds

    def note(self, reading: str, present: str, choice: str, differs: bool) -> None:
        """Note a choice that was tried."""
        self.tried.append(TriedReading(self.kernel, reading, present, choice, differs))

    def leave_out(self, readings: Iterable[str], reason: str) -> None:
        """Note readings that were not tried, by name."""
        self.left_out += [LeftOutReading(self.kernel, reading, reason) for reading in readings]

    def as_json(self) -> dict[str, object]:
        """The report for a JSON file."""
        tried = [vars(one) for one in self.tried]
        left_out = [vars(one) for one in self.left_out]
        return {
            "tried": tried, "left_out": left_out, "launches": self.launches, "seconds": self.seconds, "repeated": self.repeated,
        }  # fmt: skip

    def lines(self) -> list[str]:
        """The report in words, a line each."""
        if not self.tried and not self.left_out:
            return []
        differing = sum(one.differs for one in self.tried)
        said = f"{len(self.tried)} tried, {differing} of them {'changes' if differing == 1 else 'change'} what a launch leaves"
        repeated = f"; {self.repeated} launches like one before were not tried" if self.repeated else ""
        same = (f"{one.reading}: no difference between {one.present} and {one.choice}" for one in self.tried if not one.differs)
        left_out = (f"{one.reading}: not tried: {one.reason}" for one in self.left_out)
        lines = [f"readings: {said} ({self.launches} more launches in {self.seconds:.1f} s{repeated})"]
        return lines + [f"reading {line}" for line in (*_count(same), *_count(left_out))]


def _count(lines: Iterable[str]) -> list[str]:
    """Returns lines, each once, with how often it was there where that is more than once."""
    counts: dict[str, int] = {}
    for line in lines:
        counts[line] = counts.get(line, 0) + 1
    return [line if count == 1 else f"{line} ({count} times)" for line, count in counts.items()]
