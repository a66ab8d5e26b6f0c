"""Congruences hold all results of the numbers that they hold, and no operation knows less than it could."""

from __future__ import annotations

from itertools import product
from math import gcd

from adreno_sim.base.integers.congruence import ANY, Congruence
from adreno_sim.engine.analysis.linear import Linear

ALL = [Congruence(modulus, rest) for modulus in range(7) for rest in range(modulus or 7)]


def numbers(known: Congruence) -> list[int]:
    return [n for n in range(-25, 26) if (n == known.rest if known.modulus == 0 else n % known.modulus == known.rest)]


def congruence_of(found: list[int]) -> Congruence:
    """The congruence of the greatest modulus that holds all of some numbers."""
    return Congruence(gcd(*(n - found[0] for n in found)), found[0])


def test_operations_of_two() -> None:
    for a, b in product(ALL, repeat=2):
        assert a.plus(b) == congruence_of([x + y for x in numbers(a) for y in numbers(b)])
        assert a.either(b) == congruence_of(numbers(a) + numbers(b))


def test_operations_with_a_number() -> None:
    for a, n in product(ALL, range(-4, 9)):
        assert a.times(n) == congruence_of([x * n for x in numbers(a)])
        if n > 0:
            assert a.modulo(n) == congruence_of([x + n * k for x in numbers(a) for k in (0, 1)])
            assert a.is_multiple_of(n) == all(x % n == 0 for x in numbers(a))
        assert a.meets(n, n + 3) == any(n <= x < n + 3 for x in numbers(a))


def test_what_is_one_number() -> None:
    assert Congruence.exactly(-3).number == -3
    assert ANY.number is None
    assert numbers(ANY) == list(range(-25, 26))
    assert Linear({1: 12, 2: -8}, 7).congruence == (4, 3)
    assert Linear({}, -5).congruence.number == -5
