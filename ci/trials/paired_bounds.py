"""Two executions as one system for the engine's own bounds: what linear programming shows of the questions that isl is asked."""

from __future__ import annotations

from collections.abc import Sequence

from isl_proofs import places

from adreno_sim.engine.analysis.affine import AffineForms
from adreno_sim.engine.analysis.bounds import Bounds
from adreno_sim.engine.analysis.linear import Linear, SymbolTable
from adreno_sim.engine.prove.disjoint import AccessRange
from adreno_sim.engine.prove.in_range import AccessAnalysis


class PairedSymbols:
    """A table with a copy of each symbol for each of two executions; `shared` symbols have one."""

    def __init__(self, forms: AffineForms, shared: frozenset[int]):
        self.table = SymbolTable()
        self._symbols, self._shared = forms.symbols, shared
        self._copies: dict[tuple[int, int], int] = {}

    def copy(self, value: Linear, execution: int) -> Linear:
        """Returns `value` over the symbols of an execution."""
        return Linear({self._copy_of(number, execution): c for number, c in value.terms.items()}, value.const)

    def _copy_of(self, number: int, execution: int) -> int:
        key = number, 0 if number in self._shared else execution
        known = self._copies.get(key)
        if known is None:
            symbol = self._symbols[number]
            (known,) = self.table.new(symbol.low, symbol.high).terms
            self._copies[key] = known
            mine = self.table[known]
            if symbol.floor is not None:
                mine.floor = self.copy(symbol.floor[0], execution), symbol.floor[1]
            mine.constraints += [self.copy(constraint, execution) for constraint in symbol.constraints]
            mine.digits += [self.copy(digit, execution) for digit in symbol.digits]
        return known


def are_disjoint_by_bounds(
    analysis: AccessAnalysis, a: AccessRange, b: AccessRange, ids: Sequence[Linear], shared: frozenset[int]
) -> bool:
    """Returns True if the engine's bounds show that no two work-items, which differ in one of `ids`, access a common byte or
    texel, one by `a` and the other by `b`."""
    forms = analysis.forms
    pair = PairedSymbols(forms, shared)
    rows = [pair.copy(c, n) for n, access in enumerate((a, b)) for c in forms.bounds_at(access.instr).constraints]
    for x, y in zip(places(analysis, a), places(analysis, b), strict=True):
        distance = pair.copy(x, 0).plus(pair.copy(y, 1), -1)
        rows += [distance.plus_const(1 - b.size), distance.times(-1).plus_const(1 - a.size)]
    for number in ids:
        apart = pair.copy(number, 0).plus(pair.copy(number, 1), -1)
        for way in (apart, apart.times(-1)) if apart.terms else ():
            bounds = Bounds(pair.table, None, [*rows, way.plus_const(1)])
            if not bounds.unreachable and bounds.range_of(way.times(-1))[1] > 0 and not bounds.unreachable:
                return False
    return True
