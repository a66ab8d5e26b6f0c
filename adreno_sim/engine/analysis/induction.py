"""Affine forms of phis: induction variables as start + step * iteration, all others as ranges that hold by induction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...base.integers.interval import Interval, signed_range
from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.induction_variables import find_step
from .affine import AffineForms
from .affine_rules import merge
from .bounds import Bounds
from .interval_rules import bits_of
from .linear import Linear

Edge = tuple[ir.Value, ir.Block]

_PURE = {"trunc", "zext", "sext", "add", "sub", "mul", "shl"}
_WAYS = 4
"""What a loop adds may differ by that many branches one behind another."""
_OPERATIONS = 16
"""What a loop adds in each iteration is written with fewer, constants and arguments included."""


def induction_form(forms: AffineForms, phi: ir.Instr, lane: int) -> Linear | None:
    """Returns the form of a phi: from its loop if it is in a loop header, else merged from its incoming values."""
    here = forms.block_of[id(phi)]
    inside, outside = _edges_of(forms, phi)
    if not inside:
        return merge(forms, [(forms.of(v, lane), forms.conditions.bounds_on_edge(b, here)) for v, b in outside])
    if any(not _is_loop_entry(forms, here, b) for _, b in outside):
        return None
    start = merge(forms, [(forms.of(v, lane), forms.conditions.bounds_on_edge(b, here)) for v, b in outside])
    entry, type = _entry_range(forms, phi, start), signed_range(bits_of(phi.type))
    if lane == 0:
        step = find_step(phi, [v for v, _ in inside], partial(_invariant_number, forms, phi))
        counter = step and _counter(forms, phi, start, entry, inside, (step, type))
        if counter:
            return counter
    return _inductive_range(forms, phi, lane, entry, inside)


def count_iterations(forms: AffineForms, phi: ir.Instr) -> int | None:
    """Returns an upper bound of the iterations of the loop in whose header an integer phi is, if each adds to it, or takes from
    it, at least one; else None. What is added may differ between them, and be computed in a wider type. All of it takes steps of
    the budget.

    If the phi may be anything, it is after an iteration in some range, which with its first values holds all that it is: then it
    is asked once more of a phi in that range.
    """
    here = forms.block_of[id(phi)]
    inside, outside = _edges_of(forms, phi)
    if not outside or any(not _is_loop_entry(forms, here, b) for _, b in outside):
        return None
    assumed = signed_range(bits_of(phi.type))
    for _ in range(2):
        value = forms.symbols.new(*assumed)
        with forms.afresh(), forms.assuming(phi, 0, value):
            starts = [forms.conditions.bounds_on_edge(b, here).range_of(forms.of(v)) for v, b in outside]
            after = [found for edge in inside if _may_be_taken(forms, phi, edge) for found in _ways_to(forms, phi, *edge, here)]
            steps = [at.range_of(form.plus(value, -1)) for form, at in after]
            ends = [at.range_of(form) for form, at in after]
        if not after:
            return 0
        step, start, end = Interval.hull(steps), Interval.hull(starts), Interval.hull(ends)
        if step.low > 0:
            return max(0, (end.high - start.low) // step.low)
        if step.high < 0:
            return max(0, (start.high - end.low) // -step.high)
        assumed = Interval.hull([start, end])
    return None


def _edges_of(forms: AffineForms, phi: ir.Instr) -> tuple[list[Edge], list[Edge]]:
    """Returns the edges on which control comes to a phi: those back from inside its loop, and the others."""
    here = forms.block_of[id(phi)]
    edges = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if forms.dominators.reachable(b)]
    inside = [(v, b) for v, b in edges if forms.dominators.dominates(here, b)]
    return inside, [(v, b) for v, b in edges if not forms.dominators.dominates(here, b)]


def _ways_to(
    forms: AffineForms, phi: ir.Instr, value: ir.Value, source: ir.Block, target: ir.Block, depth: int = 0
) -> Iterator[tuple[Linear, Bounds]]:
    """Yields the forms that `value` may have where control goes from `source` to `target`, and what is known there: one for each
    way to it inside the loop of `phi`."""
    if depth < _WAYS and isinstance(value, ir.Instr) and value.op == "phi" and value is not phi:
        here = forms.block_of[id(value)]
        ways = [(v, b) for v, b in zip(value.operands, value.blocks, strict=True) if forms.dominators.reachable(b)]
        inside = forms.dominators.dominates(forms.block_of[id(phi)], here)
        if inside and not any(forms.dominators.dominates(here, b) for _, b in ways):
            for operand, block in ways:
                yield from _ways_to(forms, phi, operand, block, here, depth + 1)
            return
    yield forms.of(value), forms.conditions.bounds_on_edge(source, target)


def _counter(
    forms: AffineForms, phi: ir.Instr, start: Linear, entry: Interval, inside: list[Edge], assumed: tuple[int, Interval]
) -> Linear | None:
    """Returns the form of a phi to which every iteration adds the same, None if nothing bounds it: neither its own comparison,
    with it or with what it is next, nor another one of its loop. What is compared itself is tried first.
    """
    compared = is_compared(forms, phi)
    found = None if compared else _beside_another(forms, phi, start, inside, assumed)
    found = found or _induction_variable(forms, phi, start, entry, inside, assumed)
    if not found:
        step, type = assumed
        after = Interval.hull([entry, *_next_ranges(forms, phi, 0, type, inside)])
        found = _induction_variable(forms, phi, start, entry, inside, (step, after))
    return found or (_beside_another(forms, phi, start, inside, assumed) if compared else None)


def _is_loop_entry(forms: AffineForms, head: ir.Block, source: ir.Block) -> bool:
    """Returns True if the edge from `source` enters the loop of `head` from outside. In an irreducible loop neither header
    dominates the other, and such an edge may come from inside."""
    return forms.dominators.position(source) < forms.dominators.position(head)


def _induction_variable(
    forms: AffineForms, phi: ir.Instr, start: Linear, entry: Interval, inside: list[Edge], assumed: tuple[int, Interval]
) -> Linear | None:
    """Returns start + step * iteration if every iteration adds the same constant and no sum wraps, else None.

    Proof by induction: the phi is assumed to be in the interval of `assumed`, and each sum is shown to stay in it.
    """
    step, space = assumed
    iterations = (space.high - entry.low) // step if step > 0 else (entry.high - space.low) // -step
    iteration = forms.symbols.new(0, max(iterations, 0))
    (symbol,) = iteration.terms
    form = start.plus(iteration, step)
    with forms.assuming(phi, 0, form):
        ends = [_range_after_step(forms, phi, edge) for edge in inside if _may_be_taken(forms, phi, edge)]
    known = [end for end in ends if end is not None and space.holds(end)]
    if len(known) != len(ends):
        return None
    whole = Interval.hull([entry, *known])
    last = whole.high if step > 0 else whole.low
    forms.symbols[symbol].high = max(0, (last - entry.low) // step if step > 0 else (entry.high - last) // -step)
    forms.symbols[symbol].constraints += _last_value_constraint(form, last, step)
    forms.iterations[symbol] = forms.block_of[id(phi)]
    return form


def _beside_another(
    forms: AffineForms, phi: ir.Instr, start: Linear, inside: list[Edge], assumed: tuple[int, Interval]
) -> Linear | None:
    """Returns start + step * iteration, where the iterations are those that another phi of the loop counts, else None.

    Both phis are stepped once in each iteration. So what bounds the other one bounds this one, which may have no test itself: an
    address or an index that is stepped beside a counter. Proof by induction: each sum is shown to stay in the type.
    """
    step, space = assumed
    for iteration in _iterations_of(forms, phi):
        form = start.plus(iteration, step)
        with forms.assuming(phi, 0, form):
            ends = [_range_after_step(forms, phi, edge) for edge in inside if _may_be_taken(forms, phi, edge)]
        if all(end is not None and space.holds(end) for end in ends):
            return form
    return None


def _iterations_of(forms: AffineForms, phi: ir.Instr) -> Iterator[Linear]:
    """Yields the number of the iteration as other phis of the loop count it: those that are compared with something."""
    here = forms.block_of[id(phi)]
    others = [i for i in here.instrs if i.op == "phi" and isinstance(i.type, ir.Int) and i is not phi]
    for other in others:
        if is_compared(forms, other) and not forms.is_in_progress(other):
            yield from (Linear({s: 1}, 0) for s in forms.of(other).terms if forms.iterations.get(s) is here)


def is_compared(forms: AffineForms, phi: ir.Instr) -> bool:
    """Returns True if a comparison takes the phi, or what it is next."""
    return any(id(value) in forms.compared for value in (phi, *phi.operands))


def _last_value_constraint(form: Linear, last: int, step: int) -> list[Linear]:
    """Returns the constraint that the induction variable does not pass its last value."""
    return [form.plus_const(-last)] if step > 0 else [form.times(-1).plus_const(last)]


def _entry_range(forms: AffineForms, phi: ir.Instr, start: Linear) -> Interval:
    """Returns the range of the initial value where the loop is entered."""
    source = forms.dominators.taken_edge(forms.block_of[id(phi)])
    bounds = forms.conditions.bounds_at(source) if source is not None else Bounds(forms.symbols)
    return bounds.range_of(start)


def _invariant_number(forms: AffineForms, phi: ir.Instr, value: ir.Value) -> int | None:
    """Returns the number that `value` is in every iteration of the loop of `phi`, None if that is not known."""
    form = forms.of(value) if _is_invariant(forms, phi, value) else None
    return form.const if form and not form.terms else None


def _is_invariant(forms: AffineForms, phi: ir.Instr, value: ir.Value) -> bool:
    """Returns True if `value` follows, by at most _OPERATIONS operations, from work-item functions and what is computed before
    the loop of `phi`."""
    here, pending = forms.block_of[id(phi)], [value]
    for _ in range(_OPERATIONS):
        if not pending:
            break
        value = pending.pop()
        if isinstance(value, ir.Instr):
            there = forms.block_of[id(value)]
            before = there is not here and forms.dominators.dominates(there, here)
            if not before and not builtin_of(value).query:
                if value.op not in _PURE:
                    return False
                pending += value.operands
    return not pending


def _may_be_taken(forms: AffineForms, phi: ir.Instr, edge: Edge) -> bool:
    """Returns False if the conditions on a back edge contradict what is known or assumed of `phi`."""
    return not forms.conditions.bounds_on_edge(edge[1], forms.block_of[id(phi)]).unreachable


def _range_after_step(forms: AffineForms, phi: ir.Instr, edge: Edge) -> Interval | None:
    """Returns the range of the next value on a back edge, or None if the sum may wrap."""
    value, source = edge
    assert isinstance(value, ir.Instr)
    form = forms.of(value)
    if value.op != "gep" and (id(value), 0) not in forms.nsw:
        return None
    return forms.conditions.bounds_on_edge(source, forms.block_of[id(phi)]).range_of(form)


def _inductive_range(forms: AffineForms, phi: ir.Instr, lane: int, entry: Interval, inside: list[Edge]) -> Linear:
    """Returns a range that holds at entry and is preserved by every iteration; in the worst case the range on the back edges."""
    whole = Interval.hull([entry, *_next_ranges(forms, phi, lane, signed_range(bits_of(phi.type)), inside)])
    for guess in _candidate_ranges(entry, whole):
        kept = _next_ranges(forms, phi, lane, guess, inside)
        if all(map(guess.holds, kept)):
            return forms.new_bounded(*Interval.hull([entry, *kept]))
    return forms.new_bounded(*whole)


def _candidate_ranges(entry: Interval, whole: Interval) -> Iterator[Interval]:
    """Yields ranges to try: shrinking towards zero, growing from the initial value, falling from it, and non-negative."""
    if entry.low >= 0:
        yield Interval(0, entry.high)
    yield Interval(entry.low, whole.high)
    yield Interval(whole.low, entry.high)
    if entry.low > 0:
        yield Interval(0, whole.high)


def _next_ranges(forms: AffineForms, phi: ir.Instr, lane: int, guess: Interval, inside: list[Edge]) -> list[Interval]:
    """Returns the range of the next value on each back edge that may be taken, if the phi lies within `guess`."""
    here = forms.block_of[id(phi)]
    with forms.assuming(phi, lane, forms.symbols.new(*guess)):
        taken = [edge for edge in inside if _may_be_taken(forms, phi, edge)]
        return [forms.conditions.bounds_on_edge(source, here).range_of(forms.of(value, lane)) for value, source in taken]
