"""Linear expressions over integer symbols, and the symbols: the domain of the proofs about indices.

A symbol is a number that is fixed while a work-item evaluates an expression: an id, the iteration of a loop, the floor of a
linear expression over a constant, or a value for which only bounds are known. All arithmetic is over unbounded integers.
"""

from __future__ import annotations

from dataclasses import field
from math import gcd

from ...base.integers.congruence import Congruence
from ...base.integers.interval import Interval
from ...records import dataclass


class Linear:
    """The sum of coefficient * symbol over `terms`, plus `const`. Immutable; no coefficient is zero."""

    __slots__ = ("const", "terms")

    def __init__(self, terms: dict[int, int], const: int):
        self.terms = terms
        self.const = const

    @staticmethod
    def number(value: int) -> Linear:
        """Returns the constant expression `value`."""
        return Linear({}, value)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """Returns self + factor * other."""
        const = self.const + factor * other.const
        if not other.terms or factor == 0:
            return Linear(self.terms, const)
        terms = dict(self.terms)
        for symbol, coefficient in other.terms.items():
            total = terms.get(symbol, 0) + factor * coefficient
            if total:
                terms[symbol] = total
            else:
                del terms[symbol]
        return Linear(terms, const)

    def times(self, factor: int) -> Linear:
        """Returns self * factor."""
        if factor == 0:
            return Linear({}, 0)
        return Linear({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    def plus_const(self, amount: int) -> Linear:
        """Returns self + amount."""
        return Linear(self.terms, self.const + amount)

    @property
    def congruence(self) -> Congruence:
        """What is known modulo a number, whatever the symbols are."""
        return Congruence(gcd(*self.terms.values()), self.const)

    @property
    def terms_key(self) -> frozenset[tuple[int, int]]:
        """The terms without the constant, hashable."""
        return frozenset(self.terms.items())

    def same(self, other: Linear) -> bool:
        """Returns True if both expressions are equal term by term."""
        return self.const == other.const and self.terms == other.terms


@dataclass
class Symbol:
    """Bounds that always hold; `floor` is (numerator, divisor) if the symbol is the floor of their quotient.

    `constraints` are expressions that are at most 0 wherever the symbol has a value. `digits` are differences of this floor
    and a multiple of another floor of the same numerator: digits of that number.
    """

    low: int
    high: int
    floor: tuple[Linear, int] | None = None
    constraints: list[Linear] = field(default_factory=list)
    digits: list[Linear] = field(default_factory=list)


class SymbolTable:
    """All symbols of one analysis, by number."""

    def __init__(self) -> None:
        self._symbols: list[Symbol] = []
        self._floors: dict[tuple[frozenset[tuple[int, int]], int], dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._symbols)

    def __getitem__(self, number: int) -> Symbol:
        return self._symbols[number]

    def new(self, low: int, high: int) -> Linear:
        """Creates a symbol with these bounds and returns it as an expression."""
        assert low <= high, f"an empty range: {low} to {high}"
        number = len(self._symbols)
        self._symbols.append(Symbol(low, high))
        return Linear({number: 1}, 0)

    def sources(self, value: Linear) -> frozenset[int]:
        """Returns the symbols of an expression, and those of the numerators of its floors."""
        found, pending = set(value.terms), list(value.terms)  # few ask, so no symbol keeps its own: a chain of floors has many
        while pending:
            floor = self._symbols[pending.pop()].floor
            new = [symbol for symbol in floor[0].terms if symbol not in found] if floor else []
            found.update(new)
            pending += new
        return frozenset(found)

    def floor(self, value: Linear, divisor: int) -> Linear:
        """Returns floor(value / divisor), for divisor > 0.

        Terms that the divisor divides come out of the floor, and a floor of a floor becomes one floor. So equal quotients
        that are written differently share one symbol.
        """
        outside = {a: c // divisor for a, c in value.terms.items() if c % divisor == 0}
        inside = {a: c for a, c in value.terms.items() if c % divisor}
        base, rest = divmod(value.const, divisor)
        whole = Linear(outside, base)
        if not inside:
            return whole
        if len(inside) == 1:
            ((symbol, coefficient),) = inside.items()
            nested = self._symbols[symbol].floor
            if nested is not None and coefficient == 1:  # floor((floor(x / a) + r) / b) = floor((x + r * a) / (a * b))
                numerator, first = nested
                return whole.plus(self._floor_symbol(numerator.plus_const(rest * first), divisor * first))
        return whole.plus(self._floor_symbol(Linear(inside, rest), divisor))

    def _floor_symbol(self, value: Linear, divisor: int) -> Linear:
        outside = {a: c // divisor for a, c in value.terms.items() if c % divisor == 0}
        if outside or not 0 <= value.const < divisor:
            return self.floor(value, divisor)
        others = self._floors.setdefault((value.terms_key, value.const), {})
        if divisor not in others:
            others[divisor] = self._new_floor_symbol(value, divisor, others)
        return Linear({others[divisor]: 1}, 0)

    def _new_floor_symbol(self, value: Linear, divisor: int, others: dict[int, int]) -> int:
        """Creates the symbol of a quotient. Its remainder is below the divisor, as are the digits between it and the symbols
        in `others`, which are floors of the same numerator."""
        low, high = self._interval(value)
        quotient = self.new(low // divisor, high // divisor)
        (number,) = quotient.terms
        self._symbols[number].floor = value, divisor
        self._add_range(value.plus(quotient, -divisor), divisor, number)
        for known, other in others.items():
            small, large = min(known, divisor), max(known, divisor)
            if large % small == 0:
                fine, coarse = (number, other) if divisor == small else (other, number)
                digit = Linear({fine: 1, coarse: -(large // small)}, 0)
                self._add_range(digit, large // small, fine, coarse)
                for owner in (fine, coarse):
                    self._symbols[owner].digits.append(digit)
        return number

    def _add_range(self, rest: Linear, end: int, *owners: int) -> None:
        """Adds the constraints 0 <= rest < end to the symbols `owners`."""
        for number in owners:
            self._symbols[number].constraints += [rest.times(-1), rest.plus_const(1 - end)]

    def _interval(self, value: Linear) -> Interval:
        low = high = value.const
        for number, coefficient in value.terms.items():
            symbol = self._symbols[number]
            ends = coefficient * symbol.low, coefficient * symbol.high
            low += min(ends)
            high += max(ends)
        return Interval(low, high)
