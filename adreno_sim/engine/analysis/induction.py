"""Phis as linear expressions: counters as start plus step times iteration, the rest by intervals that hold by induction."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import ir
from .affine import IndexForms, bits_of, full, merged
from .bounds import Context
from .linear import Interval, Linear

Edge = tuple[ir.Value, ir.Block]


def phi_form(forms: IndexForms, phi: ir.Instr, lane: int) -> Linear | None:
    """The form of a phi: of its loop if it begins one, else of the values that meet."""
    here = forms.block_of[id(phi)]
    edges = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if forms.dominators.reachable(b)]
    inside = [(v, b) for v, b in edges if forms.dominators.dominates(here, b)]
    outside = [(v, b) for v, b in edges if not forms.dominators.dominates(here, b)]
    if not inside:
        return merged(forms, [(forms.form(v, lane), forms.conditions.on_edge(b, here)) for v, b in outside])
    if any(not _settled(forms, here, b) for _, b in outside):
        return None
    start = merged(forms, [(forms.form(v, lane), forms.conditions.on_edge(b, here)) for v, b in outside])
    entry, type = _at_entry(forms, phi, start), full(bits_of(phi.type))
    if lane == 0:
        step = _step(forms, phi, inside)
        counter = step and _counter(forms, phi, start, entry, inside, (step, type))
        if step and not counter:  # nothing is said of it before its step: what does the way back say?
            counter = _counter(forms, phi, start, entry, inside, (step, _hull(entry, _kept(forms, phi, 0, type, inside))))
        if counter:
            return counter
    return _bounded(forms, phi, lane, entry, inside)


def _hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _settled(forms: IndexForms, head: ir.Block, source: ir.Block) -> bool:
    """Whether an edge from outside really comes from outside: in a loop with two heads neither dominates the other."""
    position = {id(b): n for n, b in enumerate(forms.dominators.order)}
    return position[id(source)] < position[id(head)]


def _counter(
    forms: IndexForms, phi: ir.Instr, start: Linear, entry: Interval, inside: list[Edge], way: tuple[int, Interval]
) -> Linear | None:
    """start + step * iteration, if every turn adds the same constant and none of these sums wraps. By induction: the phi lies
    in the interval of `way`; where the sum is computed this is assumed, and shown for the sum."""
    step, (low, high) = way
    turns = (high - entry[0]) // step if step > 0 else (entry[1] - low) // -step
    iteration = forms.atoms.fresh(0, max(turns, 0))
    (atom,) = iteration.terms
    form = start.plus(iteration, step)
    mark = forms.mark()
    forms.keep(phi, 0, form)
    ends = [_end(forms, phi, edge) for edge in inside]
    forms.forget(mark)
    known = [end for end in ends if end is not None and low <= end[0] and end[1] <= high]
    if len(known) != len(inside):
        return None
    last = max(entry[1], *(e[1] for e in known)) if step > 0 else min(entry[0], *(e[0] for e in known))
    forms.atoms[atom].high = max(0, (last - entry[0]) // step if step > 0 else (entry[1] - last) // -step)
    forms.atoms[atom].constraints += _span(form, last, step)
    forms.turns[atom] = forms.block_of[id(phi)]
    return form


def _span(form: Linear, last: int, step: int) -> list[Linear]:
    """The counter never passes its last value."""
    return [form.shifted(-last)] if step > 0 else [form.times(-1).shifted(last)]


def _at_entry(forms: IndexForms, phi: ir.Instr, start: Linear) -> Interval:
    """Bounds of what a loop begins with, where it is entered."""
    source = forms.dominators.taken_edge(forms.block_of[id(phi)])
    context = forms.conditions.at(source) if source is not None else Context(forms.atoms)
    return context.tight(start)


def _step(forms: IndexForms, phi: ir.Instr, inside: list[Edge]) -> int | None:
    """The constant that every turn adds to `phi`."""
    steps = {_amount(forms, phi, value) for value, _ in inside}
    return steps.pop() if len(steps) == 1 else None


def _amount(forms: IndexForms, phi: ir.Instr, value: ir.Value) -> int | None:
    if not isinstance(value, ir.Instr) or value.op not in ("add", "sub", "gep"):
        return None
    if value.op == "gep":
        return _distance(forms, value) if value.operands[0] is phi else None
    left, right = value.operands
    if right is phi and value.op == "add":
        left, right = right, left
    if left is not phi or not _invariant(forms, phi, right):
        return None
    amount = forms.form(right)
    if amount.terms:
        return None
    return amount.const if value.op == "add" else -amount.const


def _distance(forms: IndexForms, gep: ir.Instr) -> int | None:
    """Bytes that a gep with constant indices adds."""
    if not all(isinstance(index, ir.Const) for index in gep.operands[1:]):
        return None
    moved = forms.form(gep).plus(forms.form(gep.operands[0]), -1)
    return moved.const if not moved.terms else None


def _invariant(forms: IndexForms, phi: ir.Instr, value: ir.Value) -> bool:
    """Whether a value is computed before the loop of `phi`, or is constant."""
    if not isinstance(value, ir.Instr):
        return True
    here, there = forms.block_of[id(phi)], forms.block_of[id(value)]
    return (there is not here and forms.dominators.dominates(there, here)) or _is_query(value)


def _is_query(value: ir.Instr) -> bool:
    """Whether a value is a work-item function or a conversion of one: the same at every turn."""
    while value.op in ("trunc", "zext", "sext") and isinstance(value.operands[0], ir.Instr):
        value = value.operands[0]
    return value.callee is not None and value.callee.name.startswith("get_")


def _end(forms: IndexForms, phi: ir.Instr, edge: Edge) -> Interval | None:
    """Bounds of a counter's next value where control goes back; None where the sum may wrap."""
    value, source = edge
    assert isinstance(value, ir.Instr)
    form = forms.form(value)
    if value.op != "gep" and (id(value), 0) not in forms.exact:
        return None
    return forms.conditions.on_edge(source, forms.block_of[id(phi)]).tight(form)


def _bounded(forms: IndexForms, phi: ir.Instr, lane: int, entry: Interval, inside: list[Edge]) -> Linear:
    """An interval that holds at the start and is kept by every turn; at worst what is known of the way back."""
    whole = _hull(entry, _kept(forms, phi, lane, full(bits_of(phi.type)), inside))
    for guess in _guesses(entry, whole):
        kept = _kept(forms, phi, lane, guess, inside)
        if guess[0] <= kept[0] and kept[1] <= guess[1]:
            return forms.between(*_hull(entry, kept))
    return forms.between(*whole)


def _guesses(entry: Interval, whole: Interval) -> Iterator[Interval]:
    """Shrinking towards zero, growing from the start, falling from the start, only not negative."""
    low, high = whole
    if entry[0] >= 0:
        yield 0, entry[1]
    yield entry[0], high
    yield low, entry[1]
    if entry[0] > 0:
        yield 0, high


def _kept(forms: IndexForms, phi: ir.Instr, lane: int, guess: Interval, inside: list[Edge]) -> Interval:
    """Bounds of the next value on all back edges, if the phi is within `guess`."""
    here = forms.block_of[id(phi)]
    mark = forms.mark()
    forms.keep(phi, lane, forms.atoms.fresh(*guess))
    ends = [forms.conditions.on_edge(source, here).tight(forms.form(value, lane)) for value, source in inside]
    forms.forget(mark)
    return min(e[0] for e in ends), max(e[1] for e in ends)
