"""The affine form of each IR instruction's result, from the forms of its operands: one rule for an instruction.

Each rule proves that its result fits the type, under the conditions of the block that computes it; else it returns None.
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.integers.interval import Interval, signed_range
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.provenance import gep_terms
from .affine import AffineForms, Rule, is_index
from .bounds import Bounds
from .index_builtins import BUILTIN_RULES
from .interval_rules import bits_of, is_unsigned
from .linear import Linear


def _linear_rule(combine: Callable[[Linear, Linear], Linear | None]) -> Rule:
    """Returns the rule of an operation whose result is linear in its operands, unless it may wrap."""

    def rule(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
        left, right = (forms.of(v, lane) for v in instr.operands)
        result = combine(left, right)
        if result is None:
            result = forms.bounded_by_rule(instr, lane, bounds)
        else:
            result = forms.if_fits(instr, result, bounds)
        if result is not None:
            forms.nsw.add((id(instr), lane))
        return result

    return rule


def _times(left: Linear, right: Linear) -> Linear | None:
    if not right.terms:
        return left.times(right.const)
    return None if left.terms else right.times(left.const)


def _shl(left: Linear, right: Linear) -> Linear | None:
    return left.times(1 << right.const) if not right.terms and 0 <= right.const < 63 else None


def _division(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """Division and remainder. OpenCL C rounds to zero, so the quotient is the floor only where neither operand can be
    negative."""
    left, right = (forms.of(v, lane) for v in instr.operands)
    remainder, positive = instr.op.endswith("rem"), bounds.range_of(left).low >= 0 and bounds.range_of(right).low > 0
    if positive and not right.terms:
        quotient = forms.symbols.floor(left, right.const)
        return left.plus(quotient, -right.const) if remainder else quotient
    result = forms.bounded_by_rule(instr, lane, bounds)
    if positive and remainder and result:
        for symbol in result.terms:
            forms.symbols[symbol].constraints.append(result.plus(right, -1).plus_const(1))
    return result


def _shift_right(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """A right shift is a floor division by a power of two; a logical one only of values that are not negative."""
    value, by = (forms.of(v, lane) for v in instr.operands)
    if not by.terms and 0 <= by.const < bits_of(instr.type) and (instr.op == "ashr" or bounds.range_of(value).low >= 0):
        return forms.symbols.floor(value, 1 << by.const)
    return forms.bounded_by_rule(instr, lane, bounds)


def _and(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    left, right = (forms.of(v, lane) for v in instr.operands)
    if not left.terms:
        left, right = right, left
    mask = right.const
    if not right.terms and mask >= 0 and mask & (mask + 1) == 0:  # the low bits: the rest of a floor, whatever the sign
        return left.plus(forms.symbols.floor(left, mask + 1), -(mask + 1))
    if not right.terms and mask & -mask == -mask:  # all but the low bits: a multiple of their number
        return forms.symbols.floor(left, -mask).times(-mask)
    return forms.bounded_by_rule(instr, lane, bounds)


def _or(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    left, right = (forms.of(v, lane) for v in instr.operands)
    if instr.op == "xor" and not right.terms and right.const == -1:
        return right.plus(left, -1)  # all bits turned
    for a, b in ((left, right), (right, left)):
        low, high = bounds.range_of(b)
        if low >= 0 and bounds.range_of(a).low >= 0 and a.congruence.is_multiple_of(1 << high.bit_length()):
            return forms.if_fits(instr, a.plus(b), bounds)  # no bit in common
    return forms.bounded_by_rule(instr, lane, bounds)


def _extend(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    source = instr.operands[0]
    value, bits = forms.of(source, lane), bits_of(source.type)
    if bits == 1:
        return forms.new_bounded(0, 1) if instr.op == "zext" else forms.new_bounded(-1, 0)
    if instr.op == "sext" or bounds.implies_within(value, 0, signed_range(bits).high):
        return value
    return forms.bounded_by_rule(instr, lane, bounds)


def _truncate(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    return forms.if_fits(instr, forms.of(instr.operands[0], lane), bounds)


def _pass_through(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    source = instr.operands[0]
    alike = is_index(source.type) and llvm_types.lanes_of(source.type) == llvm_types.lanes_of(instr.type)
    alike = alike and bits_of(source.type) == bits_of(instr.type)
    return forms.of(source, lane) if alike else None


def _select(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    condition, *ways = instr.operands
    if isinstance(condition.type, ir.Vector):
        under = [bounds, bounds]
    else:
        under = [Bounds(forms.symbols, bounds, forms.conditions.constraints_of(condition, truth)) for truth in (True, False)]
    return merge(forms, [(forms.of(way, lane), place) for way, place in zip(ways, under, strict=True)])


def merge(forms: AffineForms, ways: list[tuple[Linear, Bounds]]) -> Linear:
    """Returns the form of one of several values, each with the bounds that hold where it is chosen; one that is chosen nowhere
    does not count."""
    ways = [way for way in ways if not way[1].unreachable] or ways
    first = ways[0][0]
    if all(form.same(first) for form, _ in ways):
        return first
    return forms.new_bounded(*Interval.hull(bounds.range_of(form) for form, bounds in ways))


def _extract(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    source, index = instr.operands
    if isinstance(index, ir.Const) and isinstance(index.value, int) and index.value < llvm_types.lanes_of(source.type):
        return forms.of(source, index.value)
    return None


def _insert(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    vector, item, index = instr.operands
    if not isinstance(index, ir.Const) or not isinstance(index.value, int):
        return None
    return forms.of(item) if index.value == lane else forms.of(vector, lane)


def _shuffle(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    source = instr.mask[lane]
    count = llvm_types.lanes_of(instr.operands[0].type)
    if source < 0:
        return None
    return forms.of(instr.operands[source // count], source % count)


def _gep(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """The byte offset of an address. No step has to fit 64 bits: an intermediate offset may wrap and come back."""
    return forms.of(instr.operands[0]).plus(offset_of_gep(forms, instr))


def offset_of_gep(forms: AffineForms, gep: ir.Instr) -> Linear:
    """Returns the bytes that a gep adds to the address that it is given."""
    fields, terms = gep_terms(gep)
    offset = Linear.number(fields)
    for number, stride in terms:
        offset = offset.plus(forms.of(gep.operands[number]), stride)
    return offset


def _call(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    assert instr.callee is not None
    if builtin_of(instr).plain_conversion:
        source = instr.operands[0]
        if not isinstance(llvm_types.elem_of(source.type), ir.Int):
            return None
        value, bits = forms.of(source, lane), bits_of(source.type)
        widens = is_unsigned(instr, 0) and bits < bits_of(instr.type)
        if widens and not bounds.implies_within(value, 0, signed_range(bits).high):
            return forms.bounded_by_rule(instr, lane, bounds)
        return forms.if_fits(instr, value, bounds)
    rule = BUILTIN_RULES.get(instr.callee.name, AffineForms.bounded_by_rule)
    return rule(forms, instr, lane, bounds)


def _phi(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    from .induction import induction_form  # built on top of this module

    return induction_form(forms, instr, lane)


RULES: dict[str, Rule] = {
    "add": _linear_rule(lambda a, b: a.plus(b)),
    "sub": _linear_rule(lambda a, b: a.plus(b, -1)),
    "mul": _linear_rule(_times),
    "shl": _linear_rule(_shl),
    "sdiv": _division, "udiv": _division, "srem": _division, "urem": _division,
    "ashr": _shift_right, "lshr": _shift_right,
    "and": _and, "or": _or, "xor": _or,
    "zext": _extend, "sext": _extend, "trunc": _truncate,
    "freeze": _pass_through, "bitcast": _pass_through, "addrspacecast": _pass_through,
    "alloca": lambda forms, instr, lane, bounds: Linear.number(0),
    "select": _select, "extractelement": _extract, "insertelement": _insert, "shufflevector": _shuffle,
    "gep": _gep, "call": _call, "phi": _phi,
}  # fmt: skip
