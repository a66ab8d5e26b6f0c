"""Bounds of linear expressions at one place of a kernel, under everything that holds there."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from .linear import Atoms, Interval, Linear
from .lp import multipliers

_ROUNDS = 4
_ATOMS = 24
_CONSTRAINTS = 64
"""Beyond so many atoms or constraints an expression is bounded by its atoms' bounds alone."""


class Context:
    """Constraints (linears that are at most 0) that hold at a place: those of `parent`, and `own`."""

    def __init__(self, atoms: Atoms, parent: Context | None = None, own: list[Linear] | None = None):
        self._atoms = atoms
        self.constraints: list[Linear] = [*(parent.constraints if parent else []), *map(_whole, own or [])]
        self._refined: dict[int, Interval] = {}
        self._boxes: dict[int, Interval] = {}
        self._tops: dict[frozenset[tuple[int, int]], int] = {}
        self._cuts: dict[frozenset[tuple[int, int]], list[Linear]] = {}
        self._linking = False
        if own:
            self._refined = dict(parent._refined) if parent else {}
            self._propagate()
        elif parent:
            self._refined = parent._refined
        self._linking = any(len(c.terms) > 1 for c in self.constraints)
        self._boxes.clear()  # those of floors may now be better

    def box(self, atom: int) -> Interval:
        """Bounds of one atom here."""
        known = self._boxes.get(atom)
        if known is None:
            known = self._boxes[atom] = self._computed_box(atom)
            floor = self._atoms[atom].floor
            if floor is not None and self._linking and len(floor[0].terms) > 1:
                known = self._boxes[atom] = self._floor_box(known, *floor)
        return known

    def _floor_box(self, plain: Interval, value: Linear, divisor: int) -> Interval:
        """Bounds of a floor from the best ones of what it divides; `plain` serves meanwhile."""
        low, high = self.tight(value)
        low, high = max(plain[0], low // divisor), min(plain[1], high // divisor)
        return (low, high) if low <= high else plain

    def interval(self, value: Linear) -> Interval:
        """Bounds from the atoms' bounds alone."""
        low = high = value.const
        for atom, coefficient in value.terms.items():
            least, most = self.box(atom)
            if coefficient > 0:
                low, high = low + coefficient * least, high + coefficient * most
            else:
                low, high = low + coefficient * most, high + coefficient * least
        return low, high

    def within(self, value: Linear, low: int, high: int) -> bool:
        """Whether `value` is certain to lie in [low, high]."""
        least, most = self.interval(value)
        if most > high:
            most = self.top(value)
        if least < low and most <= high:
            least = -self.top(value.times(-1))
        return low <= least and most <= high

    def tight(self, value: Linear) -> Interval:
        """The best bounds that can be had."""
        return -self.top(value.times(-1)), self.top(value)

    def top(self, value: Linear) -> int:
        """An upper bound of `value`, using constraints that link its atoms."""
        key = value.key
        if key not in self._tops:
            self._tops[key] = self._best(Linear(value.terms, 0))
        return self._tops[key] + value.const

    def _best(self, value: Linear) -> int:
        plain = self.interval(value)[1]
        if not value.terms:
            return plain
        atoms, constraints = self._linked(value)
        if not constraints or len(atoms) > _ATOMS or len(constraints) > _CONSTRAINTS:
            return plain
        constraints += [cut for atom in value.terms for digit in self._atoms[atom].digits for cut in self._cut(digit)]
        order = sorted(atoms)
        rows = [([c.terms.get(a, 0) for a in order], -c.const) for c in constraints]
        found = multipliers([value.terms.get(a, 0) for a in order], rows, [self.box(a) for a in order])
        # Whatever multipliers >= 0 were found: value = (value - sum of m * constraint) + sum of m * constraint, the latter <= 0.
        terms: dict[int, Fraction] = {a: Fraction(c) for a, c in value.terms.items()}
        const = Fraction(0)
        for factor, constraint in zip(found, constraints, strict=True):
            if factor > 0:
                const -= factor * constraint.const
                for atom, coefficient in constraint.terms.items():
                    terms[atom] = terms.get(atom, Fraction(0)) - factor * coefficient
        bound = const + sum(c * self.box(a)[c > 0] for a, c in terms.items())
        return min(plain, bound.numerator // bound.denominator)

    def _cut(self, digit: Linear) -> list[Linear]:
        """Whole numbers between which a digit lies here: tighter than what the constraints give a sum in fractions."""
        key = digit.key
        if key not in self._cuts:
            self._cuts[key] = []  # none while they are computed
            if self._linking:
                low, high = self.tight(digit)
                self._cuts[key] = [digit.shifted(-high), digit.times(-1).shifted(low)]
        return self._cuts[key]

    def _linked(self, value: Linear) -> tuple[set[int], list[Linear]]:
        """Atoms and constraints that reach `value` through shared atoms."""
        atoms, chosen = set(value.terms), []
        pending = list(atoms)
        waiting = [c for c in self.constraints if len(c.terms) > 1]
        seen: set[int] = set()
        while pending and len(atoms) <= _ATOMS:
            atom = pending.pop()
            near = [c for c in waiting if atom in c.terms] + self._atoms[atom].constraints
            for constraint in near:
                if id(constraint) in seen:
                    continue
                seen.add(id(constraint))
                chosen.append(constraint)
                for other in constraint.terms:
                    if other not in atoms:
                        atoms.add(other)
                        pending.append(other)
        return atoms, chosen

    def _computed_box(self, atom: int) -> Interval:
        known = self._atoms[atom]
        low, high = known.low, known.high
        if atom in self._refined:
            least, most = self._refined[atom]
            low, high = max(low, least), min(high, most)
        if known.floor is not None:
            value, divisor = known.floor
            least, most = self.interval(value)
            low, high = max(low, least // divisor), min(high, most // divisor)
        return (low, high) if low <= high else (known.low, known.high)  # nothing gets here: what holds then is of no use

    def _propagate(self) -> None:
        """Tighten the atoms of all constraints until nothing moves, or for a few rounds."""
        active = list(self.constraints)
        seen = {id(c) for c in active}
        for constraint in active:
            for atom in constraint.terms:
                for more in self._atoms[atom].constraints:
                    if id(more) not in seen:
                        seen.add(id(more))
                        active.append(more)
        for _ in range(_ROUNDS):
            moved = [self._tighten(c) for c in active]
            if not any(moved):
                return

    def _tighten(self, constraint: Linear) -> bool:
        """What `constraint` says of each of its atoms, given the others."""
        least = {a: min(c * end for end in self.box(a)) for a, c in constraint.terms.items()}
        total = constraint.const + sum(least.values())
        changed = False
        for atom, coefficient in constraint.terms.items():
            room = least[atom] - total  # coefficient * atom <= room
            low, high = self.box(atom)
            if coefficient > 0 and room // coefficient < high:
                high = room // coefficient
            elif coefficient < 0 and -(room // -coefficient) > low:
                low = -(room // -coefficient)
            else:
                continue
            if low <= high:
                self._refined[atom] = low, high
                self._boxes.clear()
                changed = True
        return changed


def _whole(constraint: Linear) -> Linear:
    """What `constraint` says of whole numbers, its coefficients without their common divisor."""
    divisor = gcd(*constraint.terms.values())
    if divisor < 2:
        return constraint
    return Linear({a: c // divisor for a, c in constraint.terms.items()}, -(-constraint.const // divisor))
