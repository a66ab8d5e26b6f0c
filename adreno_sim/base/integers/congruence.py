"""Congruences: all integers with one rest modulo a number. They say what intervals do not: that a number is a multiple of 16."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple


class _Class(NamedTuple):
    modulus: int
    rest: int


class Congruence(_Class):
    """The integers that are `rest` modulo `modulus`, with 0 <= rest < modulus; of modulus 0 it is `rest` alone.

    An operation returns the congruence of the greatest modulus that holds all results.
    """

    __slots__ = ()

    def __new__(cls, modulus: int, rest: int) -> Congruence:
        modulus = abs(modulus)
        return tuple.__new__(cls, (modulus, rest % modulus if modulus else rest))

    @staticmethod
    def exactly(number: int) -> Congruence:
        """Returns the congruence of one number."""
        return Congruence(0, number)

    @property
    def number(self) -> int | None:
        """The only number that it holds; None if there are others."""
        return None if self.modulus else self.rest

    def plus(self, other: Congruence) -> Congruence:
        """Returns the sums."""
        return Congruence(gcd(self.modulus, other.modulus), self.rest + other.rest)

    def times(self, factor: int) -> Congruence:
        """Returns the products with a number."""
        return Congruence(self.modulus * factor, self.rest * factor)

    def either(self, other: Congruence) -> Congruence:
        """Returns the congruence that holds all numbers of both."""
        return Congruence(gcd(self.modulus, other.modulus, self.rest - other.rest), self.rest)

    def modulo(self, number: int) -> Congruence:
        """Returns what still holds for the numbers if multiples of `number` may have been added to them."""
        return Congruence(gcd(self.modulus, number), self.rest)

    def is_multiple_of(self, number: int) -> bool:
        """Returns True if every number is a multiple of `number`."""
        return self.modulus % number == 0 == self.rest % number

    def meets(self, first: int, end: int) -> bool:
        """Returns whether one of the numbers is in [first, end)."""
        return (self.rest - first) % self.modulus < end - first if self.modulus else first <= self.rest < end


ANY = Congruence(1, 0)
"""All integers."""
