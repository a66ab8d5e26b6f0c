"""Which commands happen before which: the transitive closure of what orders them, for the latest commands.

A command comes after the one before it in a queue that is in order, after the last barrier of one that is not, after those in its
wait list, and after all that the host knew to be complete when it was handed over. What the host's threads say to each other is
not seen, so that what one of them knows counts as known to all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from ...records import dataclass

WINDOW = 2048
"""At least so many of the latest commands are known; older ones count as ordered."""


@dataclass
class _Queue:
    """Sets of commands: all of it with what is before them, the last one (in order) or barrier with what is before it."""

    in_order: bool = True
    all: int = 0
    last: int = 0


@dataclass
class HappensBefore:
    """Sets are bit masks: bit n stands for command `base` + n."""

    base: int = 0
    _known: int = 0
    _queues: dict[int, _Queue] = field(default_factory=dict)
    _until: dict[int, int] = field(default_factory=dict)
    """Each command, with all that is before it."""

    def make_queue(self, number: int, in_order: bool) -> None:
        self._queues[number] = _Queue(in_order)

    def add(self, number: int, queue: int, waits: Iterable[int], *, all_before: bool = False, barrier: bool = False) -> int:
        """Adds a command, whose number is larger than any before. Returns the set of those that happen before it."""
        self._slide(number)
        own = self._queues.setdefault(queue, _Queue())
        before = self._known | own.last | (own.all if all_before else 0)
        for other in waits:
            before |= self._until.get(other, 0)
        until = before | 1 << (number - self.base)
        self._until[number] = until
        own.all |= until
        if own.in_order or barrier:
            own.last = until
        return before

    def note_known(self, number: int) -> None:
        """The host knows that a command is complete."""
        self._known |= self._until.get(number, 0)

    def note_queue_known(self, queue: int, last: int) -> None:
        """The host knows that all commands of a queue up to the number `last` are complete."""
        own = self._queues.get(queue)
        if own is not None and last >= self.base:
            self._known |= own.all & ((1 << (last - self.base + 1)) - 1)

    def numbers(self, commands: int) -> Iterator[int]:
        """Yields the numbers of a set, oldest first."""
        while commands:
            lowest = commands & -commands
            yield self.base + lowest.bit_length() - 1
            commands ^= lowest

    def set_of(self, number: int) -> int:
        """Returns the set of one command; an empty one if it is forgotten."""
        return 1 << (number - self.base) if number >= self.base else 0

    def _slide(self, number: int) -> None:
        by = number - self.base - 2 * WINDOW + 1
        if by <= 0:
            return
        by += WINDOW
        self.base += by
        self._known >>= by
        for queue in self._queues.values():
            queue.all >>= by
            queue.last >>= by
        self._until = {each: until >> by for each, until in self._until.items() if each >= self.base}
