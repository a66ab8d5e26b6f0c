"""Bounds of linear expressions at one program point, under the path conditions that hold there."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from ...base.integers.interval import Interval
from .linear import Linear, SymbolTable
from .lp import dual_multipliers

_ROUNDS = 4
_MAX_SYMBOLS = 24
_MAX_CONSTRAINTS = 64
"""An expression that reaches more symbols or constraints than this is bounded by its symbols' ranges alone."""
MAX_HELD = 128
"""The most constraints that a point holds. Of more, those of the nearest branches are held; the ranges of symbols that follow
from the others stay known."""


class Bounds:
    """The constraints that hold at a point, each a linear expression that is at most 0: those of `parent`, and `own`.

    unreachable: they contradict each other, so that nothing gets here, and whatever is said of this point holds. A
    contradiction may be found later, when a range is asked for. Ranges are never empty, whether or not one was found.
    over_budget: some expression reached too many constraints for all of them to be used, or there are too many to be held.
    """

    def __init__(self, symbols: SymbolTable, parent: Bounds | None = None, own: list[Linear] | None = None):
        self._symbols = symbols
        above = parent.constraints if parent else []
        held = {id(c) for c in above}
        self.own = [c for c in map(_normalize, own or []) if id(c) not in held]
        self.constraints: list[Linear] = [*above, *self.own][-MAX_HELD:]
        sources = map(symbols.sources, self.own)
        self._sources: list[frozenset[int]] = [*(parent._sources if parent else []), *sources][-MAX_HELD:]
        self.over_budget: bool = len(above) + len(self.own) > MAX_HELD or (parent is not None and parent.over_budget)
        self._refined: dict[int, Interval] = {}
        self._symbol_ranges: dict[int, Interval] = {}
        self._upper_bounds: dict[frozenset[tuple[int, int]], int] = {}
        self._cuts: dict[frozenset[tuple[int, int]], list[Linear]] = {}
        self._links: list[Linear] = []
        self.unreachable: bool = parent is not None and parent.unreachable
        if self.own:
            self._refined = dict(parent._refined) if parent else {}
            self._propagate()
        elif parent:
            self._refined = parent._refined
        self._links = [c for c in self.constraints if len(c.terms) > 1]
        self._symbol_ranges.clear()  # those of floors may now be better

    def symbol_range(self, symbol: int) -> Interval:
        """Returns the range of one symbol at this point."""
        known = self._symbol_ranges.get(symbol)
        if known is None:
            known = self._symbol_ranges[symbol] = self._compute_symbol_range(symbol)
            floor = self._symbols[symbol].floor
            if floor is not None and self._links and len(floor[0].terms) > 1:
                known = self._symbol_ranges[symbol] = self._refine_floor(known, *floor)
        return known

    def _refine_floor(self, plain: Interval, value: Linear, divisor: int) -> Interval:
        """Returns the range of a floor from the best range of its numerator, within `plain`."""
        low, high = self.range_of(value)
        low, high = max(plain[0], low // divisor), min(plain[1], high // divisor)
        if low <= high:
            return Interval(low, high)
        self.unreachable = True
        return plain

    def box_range(self, value: Linear) -> Interval:
        """Returns the range of `value` from the ranges of its symbols alone (interval arithmetic)."""
        low = high = value.const
        for symbol, coefficient in value.terms.items():
            least, most = self.symbol_range(symbol)
            if coefficient > 0:
                low, high = low + coefficient * least, high + coefficient * most
            else:
                low, high = low + coefficient * most, high + coefficient * least
        return Interval(low, high)

    def implies_within(self, value: Linear, low: int, high: int) -> bool:
        """Returns True if `value` is proven to be in [low, high]."""
        if self.unreachable:
            return True
        least, most = self.box_range(value)
        if most > high:
            most = self.upper_bound(value)
        if least < low and most <= high:
            least = -self.upper_bound(value.times(-1))
        return low <= least and most <= high

    def range_of(self, value: Linear) -> Interval:
        """Returns the best proven range of `value`."""
        if not self.unreachable:
            low, high = -self.upper_bound(value.times(-1)), self.upper_bound(value)
            if low <= high:
                return Interval(low, high)
            self.unreachable = True
        return self.box_range(value)

    def upper_bound(self, value: Linear) -> int:
        """Returns the best proven upper bound of `value`, using constraints that link its symbols."""
        key = value.terms_key
        if key not in self._upper_bounds:
            self._upper_bounds[key] = self._lp_upper_bound(Linear(value.terms, 0))
        return self._upper_bounds[key] + value.const

    def _lp_upper_bound(self, value: Linear) -> int:
        """Returns an upper bound of `value` by linear programming (`lp`), and never one worse than `box_range` gives."""
        plain = self.box_range(value)[1]
        if not value.terms:
            return plain
        symbols, constraints = self._linked_constraints(value)
        if not constraints:
            return plain
        if len(symbols) > _MAX_SYMBOLS or len(constraints) > _MAX_CONSTRAINTS:
            self.over_budget = True
            return plain
        digits = [digit for symbol in value.terms for digit in self._symbols[symbol].digits]
        constraints += [cut for digit in digits for cut in self._digit_cuts(digit)]
        order = sorted(symbols)
        rows = [([c.terms.get(a, 0) for a in order], -c.const) for c in constraints]
        found = dual_multipliers([value.terms.get(a, 0) for a in order], rows, [self.symbol_range(a) for a in order])
        # Whatever multipliers >= 0 were found: value = (value - sum of m * constraint) + sum of m * constraint, the latter <= 0.
        terms: dict[int, Fraction] = {a: Fraction(c) for a, c in value.terms.items()}
        const = Fraction(0)
        for factor, constraint in zip(found, constraints, strict=True):
            if factor > 0:
                const -= factor * constraint.const
                for symbol, coefficient in constraint.terms.items():
                    terms[symbol] = terms.get(symbol, Fraction(0)) - factor * coefficient
        bound = const + sum(c * self.symbol_range(a)[c > 0] for a, c in terms.items())
        return min(plain, bound.numerator // bound.denominator)

    def _digit_cuts(self, digit: Linear) -> list[Linear]:
        """Returns the integer range of a digit as two constraints: they cut off fractional solutions of the linear programme."""
        key = digit.terms_key
        if key not in self._cuts:
            self._cuts[key] = []  # none while they are computed
            if self._links:
                low, high = self.range_of(digit)
                self._cuts[key] = [digit.plus_const(-high), digit.times(-1).plus_const(low)]
        return self._cuts[key]

    def _linked_constraints(self, value: Linear) -> tuple[set[int], list[Linear]]:
        """Returns the symbols and constraints that are connected to `value` by shared symbols."""
        symbols, linked = set(value.terms), []
        pending = list(symbols)
        seen: set[int] = set()
        while pending and len(symbols) <= _MAX_SYMBOLS:
            symbol = pending.pop()
            near = [c for c in self._links if symbol in c.terms] + self._symbols[symbol].constraints
            for constraint in near:
                if id(constraint) in seen:
                    continue
                seen.add(id(constraint))
                linked.append(constraint)
                for other in constraint.terms:
                    if other not in symbols:
                        symbols.add(other)
                        pending.append(other)
        return symbols, linked

    def _compute_symbol_range(self, symbol: int) -> Interval:
        known = self._symbols[symbol]
        low, high = known.low, known.high
        if symbol in self._refined:
            least, most = self._refined[symbol]
            low, high = max(low, least), min(high, most)
        if known.floor is not None:
            value, divisor = known.floor
            least, most = self.box_range(value)
            low, high = max(low, least // divisor), min(high, most // divisor)
        if low > high:
            self.unreachable = True
            low, high = known.low, known.high
        return Interval(low, high)

    def _propagate(self) -> None:
        """Tightens the symbols of the constraints that the new ones concern (bound propagation) until nothing changes, in at
        most _ROUNDS rounds."""
        self.unreachable |= any(not c.terms and c.const > 0 for c in self.own)
        active = self._concerned()
        seen = {id(c) for c in active}
        for constraint in active:
            for symbol in constraint.terms:
                for more in self._symbols[symbol].constraints:
                    if id(more) not in seen:
                        seen.add(id(more))
                        active.append(more)
        for _ in range(_ROUNDS):
            moved = [self._tighten(c) for c in active]
            if not any(moved):
                return

    def _concerned(self) -> list[Linear]:
        """Returns the constraints that share symbols with the new ones, directly or by others. The rest says what it said
        above."""
        if len(self.own) == len(self.constraints):
            return list(self.constraints)
        reached = set[int]().union(*self._sources[-len(self.own) :])
        waiting, found = list(range(len(self.constraints))), set[int]()
        while near := [n for n in waiting if not reached.isdisjoint(self._sources[n])]:
            found.update(near)
            reached.update(*(self._sources[n] for n in near))
            waiting = [n for n in waiting if n not in found]
        return [self.constraints[n] for n in sorted(found)]

    def _tighten(self, constraint: Linear) -> bool:
        """Tightens each symbol of `constraint`, given the ranges of the others. Returns True if a range changed."""
        least = {a: min(c * end for end in self.symbol_range(a)) for a, c in constraint.terms.items()}
        total = constraint.const + sum(least.values())
        changed = False
        for symbol, coefficient in constraint.terms.items():
            room = least[symbol] - total  # coefficient * symbol <= room
            low, high = self.symbol_range(symbol)
            if coefficient > 0 and room // coefficient < high:
                high = room // coefficient
            elif coefficient < 0 and -(room // -coefficient) > low:
                low = -(room // -coefficient)
            else:
                continue
            if low > high:
                self.unreachable = True
                return False
            self._refined[symbol] = Interval(low, high)
            self._symbol_ranges.clear()
            changed = True
        return changed


def _normalize(constraint: Linear) -> Linear:
    """Divides `constraint` by the common divisor of its coefficients and rounds the constant, which is exact over integers."""
    divisor = gcd(*constraint.terms.values())
    if divisor < 2:
        return constraint
    return Linear({a: c // divisor for a, c in constraint.terms.items()}, -(-constraint.const // divisor))
