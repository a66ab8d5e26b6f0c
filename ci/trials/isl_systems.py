"""What the analyses know at one or two points of a kernel, as sets of integer points that isl can be asked about.

A symbol becomes a dimension with its range and its constraints. The floor of an expression has the constraints of its
remainder, which fix its value, so it needs no division of isl's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import thread_time

import islpy as isl

from adreno_sim.engine.analysis.linear import Linear, Symbol, SymbolTable

Column = tuple[int, int]
"""A dimension: an execution, and a symbol. What both executions share belongs to execution 0."""
Sum = Mapping[int, Linear]
"""Expressions by the execution whose symbols they are over; they are added."""


class Solver:
    """An isl context, and the integers of it that were used before. Only one thread at a time may use it.

    operations: isl's limit for one question, 0 for none. exceeded: how many questions met it. seconds: what isl took to answer,
    without the making of sets.
    """

    def __init__(self, operations: int = 0):
        self.context = isl.Context()
        self.operations, self.exceeded, self.seconds = operations, 0, 0.0
        self._values: dict[int, isl.Val] = {}

    def value(self, number: int) -> isl.Val:
        """Returns isl's integer for `number`."""
        known = self._values.get(number)
        if known is None:
            known = self._values[number] = isl.Val(str(number), self.context)  # as text, it may have more than 64 bits
        return known

    def is_empty(self, points: isl.BasicSet) -> bool:
        """Returns True if isl shows that the set has no integer point, False also where isl meets its limit."""
        return bool(self._ask(points.is_empty))

    def maximum(self, points: isl.BasicSet, objective: isl.Aff) -> isl.Val | None:
        """Returns the largest value of `objective`, no integer for an empty set; None if isl meets its limit."""
        return self._ask(lambda: points.max_val(objective))

    def _ask(self, question):
        self.context.reset_operations()
        self.context.set_max_operations(self.operations)
        start = thread_time()
        try:
            return question()
        except isl.Error:
            if not self.operations:
                raise
            self.exceeded += 1
            return None
        finally:
            self.seconds += thread_time() - start
            self.context.set_max_operations(0)


class System:
    """Inequalities over the symbols of one execution of a kernel, or of two that share the symbols `shared`."""

    def __init__(self, solver: Solver, symbols: SymbolTable, shared: frozenset[int] = frozenset()):
        self._solver, self._symbols, self._shared = solver, symbols, shared
        self._columns: dict[Column, int] = {}
        self._rows: list[tuple[dict[int, int], int]] = []

    def add_point(self, constraints: Iterable[Linear], values: Iterable[Linear], execution: int = 0) -> None:
        """Adds what holds at a point of an execution: the path conditions `constraints`, and the facts about the symbols of
        these, of `values`, and of all that they depend on.
        """
        rows = {id(constraint): constraint for constraint in constraints}
        pending = [number for part in (*values, *rows.values()) for number in part.terms]
        seen: set[int] = set()
        while pending:
            number = pending.pop()
            if number not in seen:
                seen.add(number)
                symbol = self._add_symbol(execution, number)
                rows.update((id(constraint), constraint) for constraint in symbol.constraints)
                pending += [other for constraint in symbol.constraints for other in constraint.terms]
        for row in rows.values():
            self.add_at_most_zero({execution: row})

    def _add_symbol(self, execution: int, number: int) -> Symbol:
        """Gives a symbol its dimension and range, unless it has them."""
        symbol, column = self._symbols[number], self._column(execution, number)
        if column not in self._columns:
            place = self._columns[column] = len(self._columns)
            self._rows += [({place: 1}, -symbol.low), ({place: -1}, symbol.high)]
        return symbol

    def _column(self, execution: int, number: int) -> Column:
        return (0 if number in self._shared else execution), number

    def _row(self, parts: Sum) -> tuple[dict[int, int], int]:
        """Returns coefficients by dimension and the constant of: minus the sum of `parts`, which is at least 0."""
        terms: dict[int, int] = {}
        for execution, part in parts.items():
            for number, coefficient in part.terms.items():
                place = self._columns[self._column(execution, number)]
                terms[place] = terms.get(place, 0) - coefficient
        return terms, -sum(part.const for part in parts.values())

    def add_at_most_zero(self, parts: Sum) -> None:
        """Adds that the sum of `parts` is at most 0. Their symbols are known from `add_point`."""
        self._rows.append(self._row(parts))

    def points(self) -> isl.BasicSet:
        """Returns the set of all integer points that satisfy the inequalities."""
        context, value, width = self._solver.context, self._solver.value, len(self._columns)
        matrix = isl.Mat.alloc(context, 0, width + 1).add_zero_rows(len(self._rows))
        for row, (terms, const) in enumerate(self._rows):
            for place, coefficient in terms.items():
                matrix = matrix.set_element_val(row, place, value(coefficient))
            if const:
                matrix = matrix.set_element_val(row, width, value(const))
        kind = isl.dim_type
        space = isl.Space.set_alloc(context, 0, width)
        equalities = isl.Mat.alloc(context, 0, width + 1)
        order = kind.set, kind.cst, kind.param, kind.div
        return isl.BasicSet.from_constraint_matrices(space, equalities, matrix, *order)

    def is_contradicted(self, points: isl.BasicSet, parts: Sum) -> bool:
        """Returns True if isl shows that nowhere in `points`, made by this system, the sum of `parts` is at most 0."""
        terms, const = self._row(parts)
        value, kind = self._solver.value, isl.dim_type.set
        more = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(points.get_space())).set_constant_val(value(const))
        for place, coefficient in terms.items():
            more = more.set_coefficient_val(kind, place, value(coefficient))
        return self._solver.is_empty(points.add_constraint(more))

    def maximum(self, value: Linear) -> isl.Val | None:
        """Returns the largest value of `value`, whose symbols are known, on these points: no integer if there are none, None
        if isl meets its limit."""
        points = self.points()
        objective = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(points.get_space()))
        objective = objective.set_constant_val(self._solver.value(value.const))
        for number, coefficient in value.terms.items():
            place = self._columns[0, number]
            objective = objective.set_coefficient_val(isl.dim_type.in_, place, self._solver.value(coefficient))
        return self._solver.maximum(points, objective)
