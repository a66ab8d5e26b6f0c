"""Intervals: all integers between two ends. One class for all analyses, each rule of arithmetic written once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class _Ends(NamedTuple):
    low: int
    high: int


class Interval(_Ends):
    """The integers from `low` to `high`, both included. It is never empty: low <= high.

    An operation returns the least interval that holds all results, unless it says otherwise; None if one may be undefined, or
    where no rule bounds it.
    """

    __slots__ = ()

    def __new__(cls, low: int, high: int) -> Interval:
        assert low <= high, f"an empty interval: {low} to {high}"
        return tuple.__new__(cls, (low, high))

    @staticmethod
    def exactly(number: int) -> Interval:
        """Returns the interval of one number."""
        return Interval(number, number)

    @staticmethod
    def hull(intervals: Iterable[Interval]) -> Interval:
        """Returns the least interval that holds all of `intervals`. There is at least one."""
        lows, highs = zip(*intervals, strict=True)
        return Interval(min(lows), max(highs))

    # Relations

    def holds(self, other: Interval) -> bool:
        """Returns True if `other` is in this interval."""
        return self[0] <= other[0] and other[1] <= self[1]

    def fits(self, bits: int) -> bool:
        """Returns True if signed integers of `bits` bits hold every number."""
        return signed_range(bits).holds(self)

    def common(self, other: Interval) -> Interval | None:
        """Returns the numbers that are in both; None if there are none."""
        low, high = max(self[0], other[0]), min(self[1], other[1])
        return Interval(low, high) if low <= high else None

    # Arithmetic

    def plus(self, other: Interval) -> Interval:
        """Returns the sums."""
        return Interval(self[0] + other[0], self[1] + other[1])

    def minus(self, other: Interval) -> Interval:
        """Returns the differences."""
        return Interval(self[0] - other[1], self[1] - other[0])

    def times(self, other: Interval) -> Interval:
        """Returns the products."""
        return _corners(x * y for x in self for y in other)

    def quotient(self, divisor: Interval) -> Interval | None:
        """Returns the quotients rounded to zero, as in C, by a divisor that is positive; else None."""
        if divisor[0] <= 0:
            return None
        return _corners(abs(x) // y * (1 if x >= 0 else -1) for x in self for y in divisor)

    def floor_quotient(self, divisor: Interval) -> Interval | None:
        """Returns the quotients rounded down, by a divisor that is positive; else None."""
        return _corners(x // y for x in self for y in divisor) if divisor[0] > 0 else None

    def remainder(self, divisor: Interval) -> Interval | None:
        """Returns the remainders that `quotient` leaves, which have the sign of the dividend. Not always the least interval."""
        if divisor[0] <= 0:
            return None
        most = divisor[1] - 1
        return Interval(0 if self[0] >= 0 else max(self[0], -most), 0 if self[1] < 0 else min(self[1], most))

    def minimum(self, other: Interval) -> Interval:
        """Returns the lesser of two numbers."""
        return Interval(min(self[0], other[0]), min(self[1], other[1]))

    def maximum(self, other: Interval) -> Interval:
        """Returns the greater of two numbers."""
        return Interval(max(self[0], other[0]), max(self[1], other[1]))

    def absolute(self) -> Interval:
        """Returns the distances from 0."""
        return Interval(max(self[0], -self[1], 0), max(-self[0], self[1]))

    # Bits, of numbers in two's complement

    def shifted_left(self, amount: Interval, bits: int) -> Interval | None:
        """Returns the numbers times 2 to the power of `amount`, which is below `bits`; else None."""
        return self.times(Interval(1 << amount[0], 1 << amount[1])) if amount[0] >= 0 and amount[1] < bits else None

    def shifted_right(self, amount: Interval, bits: int) -> Interval | None:
        """Returns the floors of the numbers over 2 to the power of `amount`, which is below `bits`; else None."""
        return _corners(x >> y for x in self for y in amount) if amount[0] >= 0 and amount[1] < bits else None

    def complement(self) -> Interval:
        """Returns the numbers with all bits turned."""
        return Interval(-1 - self[1], -1 - self[0])

    def bits_and(self, other: Interval) -> Interval:
        """Returns an interval of the common bits. Not always the least interval."""
        ends = [end for low, end in (self, other) if low >= 0]
        if ends:
            return Interval(0, min(ends))
        low = -1 << max((-1 - self[0]).bit_length(), (-1 - other[0]).bit_length())
        return Interval(low, min(self[1], other[1]) if max(self[1], other[1]) < 0 else max(self[1], other[1]))

    def bits_or(self, other: Interval) -> Interval:
        """Returns an interval of the bits of either operand. Not always the least interval."""
        return self.complement().bits_and(other.complement()).complement()

    def bits_xor(self, other: Interval) -> Interval:
        """Returns an interval of the bits of one operand that the other has not. Not always the least interval."""
        if -1 == other[0] == other[1]:
            return self.complement()
        return self.bits_and(other.complement()).bits_or(self.complement().bits_and(other))

    def as_unsigned(self, bits: int) -> Interval:
        """Returns the numbers, signed ones of `bits` bits, read as unsigned."""
        if self[0] >= 0:
            return self
        return Interval(0, (1 << bits) - 1) if self[1] >= 0 else Interval(self[0] + (1 << bits), self[1] + (1 << bits))


def _corners(numbers: Iterable[int]) -> Interval:
    """Returns the interval of what a function takes at the corners of its operands. All its values are there if along each
    it only rises, or only falls."""
    found = list(numbers)
    return Interval(min(found), max(found))


@cache
def signed_range(bits: int) -> Interval:
    """Returns the least and the largest signed integer of `bits` bits."""
    return Interval(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
