"""The order in which libstdc++ goes through an unordered set of integers, which Relay's graph planner depends on.

Elements are one list; those of a bucket (number modulo the count of buckets, a prime) stand together in it. A new element goes to
the front of its bucket, a new bucket to the front of the list. Buckets grow where there are more elements than buckets.
"""

from __future__ import annotations

from collections.abc import Iterator

BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061, 712697, 1447153)
"""Counts of buckets that a set which grows one by one has in turn, after 1."""


class UnorderedSet:
    """Numbers of 0 or more, iterated as libstdc++ does."""

    def __init__(self) -> None:
        self.count = 1
        self.order: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)

    def insert(self, number: int) -> None:
        """Add a number that is not in the set."""
        if self.count == 1 or len(self.order) == self.count:
            self._grow()
        self._link(number)

    def erase(self, number: int) -> None:
        self.order.remove(number)

    def _link(self, number: int) -> None:
        bucket = number % self.count
        place = next((place for place, other in enumerate(self.order) if other % self.count == bucket), 0)
        self.order.insert(place, number)

    def _grow(self) -> None:
        """Take every element in order into more buckets."""
        self.count = next(count for count in BUCKETS if count > self.count)
        before, self.order = self.order, []
        for number in before:
            self._link(number)
