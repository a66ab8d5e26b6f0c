"""The engine's proof goals as questions to isl: accesses in range, and accesses of different work-items that are disjoint.

What the engine's analyses say of values and conditions is taken over, so whether an operation wraps stays theirs to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from isl_systems import Solver, System

from adreno_sim.engine.analysis.affine import AffineForms
from adreno_sim.engine.analysis.bounds import Bounds
from adreno_sim.engine.analysis.linear import Linear
from adreno_sim.engine.prove.disjoint import AccessRange
from adreno_sim.engine.prove.in_range import AccessAnalysis, Goal
from adreno_sim.ir import ir
from adreno_sim.ir.builtins import builtin_of
from adreno_sim.ir.memory_ops import touches_memory

_BELOW_ALL = -(1 << 100)
"""Bounds what has no value at all. The engine takes a range whose ends are the wrong way round for a contradiction."""


def is_in_range(solver: Solver, analysis: AccessAnalysis, instr: ir.Instr, goals: Sequence[Goal]) -> bool:
    """Returns True if isl shows that no value of a goal is outside its bounds, or that `instr` never executes."""
    bounds = analysis.forms.bounds_at(instr)
    values = [goal.value for goal in goals if goal.value is not None]
    system = System(solver, analysis.forms.symbols)
    system.add_point(bounds.constraints, values)
    points = system.points()
    if len(values) < len(goals):
        return touches_memory(instr) and solver.is_empty(points)
    return all(_is_within(system, points, goal) for goal in goals)


def never_executes(solver: Solver, analysis: AccessAnalysis, instr: ir.Instr) -> bool:
    """Returns True if isl shows that the conditions on the way to `instr` contradict each other."""
    system = System(solver, analysis.forms.symbols)
    system.add_point(analysis.forms.bounds_at(instr).constraints, [])
    return solver.is_empty(system.points())


def _is_within(system: System, points, goal: Goal) -> bool:
    assert goal.value is not None
    below, above = goal.value.plus_const(1), goal.value.times(-1).plus_const(goal.high + 1)
    return system.is_contradicted(points, {0: below}) and system.is_contradicted(points, {0: above})


def are_disjoint(
    solver: Solver, analysis: AccessAnalysis, a: AccessRange, b: AccessRange, ids: Sequence[Linear], shared: frozenset[int]
) -> bool:
    """Returns True if isl shows that no two work-items, which differ in one of `ids`, access a common byte or texel, one by `a`
    and the other by `b`. `shared` symbols have one value for both."""
    forms = analysis.forms
    first, second = places(analysis, a), places(analysis, b)
    system = System(solver, forms.symbols, shared)
    system.add_point(forms.bounds_at(a.instr).constraints, (*first, *ids), 0)
    system.add_point(forms.bounds_at(b.instr).constraints, (*second, *ids), 1)
    for x, y in zip(first, second, strict=True):
        system.add_at_most_zero({0: x, 1: y.times(-1).plus_const(1 - b.size)})
        system.add_at_most_zero({0: x.times(-1), 1: y.plus_const(1 - a.size)})
    points = system.points()
    differences = ({way: number, 1 - way: number.times(-1).plus_const(1)} for number in ids if number.terms for way in (0, 1))
    return all(system.is_contradicted(points, difference) for difference in differences)


def places(analysis: AccessAnalysis, access: AccessRange) -> list[Linear]:
    """Returns the byte offset of an access, or the coordinates of a texel."""
    if not builtin_of(access.instr).image:
        return [access.offset]
    image, where = access.instr.operands[:2]
    assert isinstance(image, ir.Param)
    return [analysis.forms.of(where, lane) for lane in range(len(analysis.forms.extents(image)))]


def group_ids(forms: AffineForms) -> frozenset[int]:
    """Returns the symbols of the group ids, which all work-items of a group share."""
    return frozenset(symbol for axis in range(3) for symbol in forms.group_id(axis).terms)


@contextmanager
def bounds_by_isl(solver: Solver) -> Iterator[None]:
    """While it is open, the engine's analyses find the bounds of linear expressions with isl instead of linear programming:
    those that show that nothing wraps too."""
    before = Bounds._lp_upper_bound

    def upper_bound(bounds: Bounds, value: Linear) -> int:
        plain = bounds.box_range(value)[1]
        if not value.terms or not bounds._linked_constraints(value)[1]:
            return plain
        system = System(solver, bounds._symbols)
        system.add_point(bounds.constraints, [value])
        found = system.maximum(value)
        if found is None:
            return plain
        return min(plain, found.to_python()) if found.is_int() else _BELOW_ALL

    Bounds._lp_upper_bound = upper_bound  # type: ignore[method-assign]
    try:
        yield
    finally:
        Bounds._lp_upper_bound = before  # type: ignore[method-assign]
