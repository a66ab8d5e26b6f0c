"""The affine form of each IR instruction's result, from the forms of its operands: one rule for an instruction.

Each rule proves that its result fits the type, under the conditions of the block that computes it; else it returns None.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.provenance import gep_terms
from .affine import AffineForms, Rule, bits_of, is_index, signed_range
from .bounds import Bounds
from .index_builtins import BUILTIN_RULES
from .linear import Interval, Linear


def _linear_rule(combine: Callable[[Linear, Linear], Linear | None]) -> Rule:
    """Returns the rule of an operation whose result is linear in its operands, unless it may wrap."""

    def rule(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
        left, right = (forms.of(v, lane) for v in instr.operands)
        result = combine(left, right)
        if result is not None:
            result = forms.if_fits(instr, result, bounds)
        elif instr.op == "mul":
            result = _product(forms, instr, left, right, bounds)
        if result is not None:
            forms.nsw.add((id(instr), lane))
        return result

    return rule


def _product(forms: AffineForms, instr: ir.Instr, left: Linear, right: Linear, bounds: Bounds) -> Linear | None:
    """Returns a product of two variables, bounded by the products of their bounds."""
    corners = [x * y for x in bounds.range_of(left) for y in bounds.range_of(right)]
    low, high = signed_range(bits_of(instr.type))
    return forms.new_bounded(min(corners), max(corners)) if low <= min(corners) and max(corners) <= high else None


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
    (low, high), (least, most) = bounds.range_of(left), bounds.range_of(right)
    remainder = instr.op.endswith("rem")
    if least <= 0 or (low < 0 and instr.op[0] == "u"):
        return None
    if low < 0:
        return _signed_division(forms, (low, high), (least, most), remainder)
    if not right.terms:
        quotient = forms.symbols.floor(left, right.const)
        return left.plus(quotient, -right.const) if remainder else quotient
    if not remainder:
        return forms.new_bounded(low // most, high // least)
    rest = forms.new_bounded(0, min(high, most - 1))
    for symbol in rest.terms:
        forms.symbols[symbol].constraints.append(rest.plus(right, -1).plus_const(1))
    return rest


def _signed_division(forms: AffineForms, a: Interval, b: Interval, remainder: bool) -> Linear:
    if remainder:
        return forms.new_bounded(max(a[0], 1 - b[1]), max(0, min(a[1], b[1] - 1)))
    corners = [abs(x) // y * (1 if x >= 0 else -1) for x in a for y in b]
    return forms.new_bounded(min(*corners, 0), max(*corners, 0))


def _shift_right(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """A right shift is a floor division by a power of two; a logical one only of values that are not negative."""
    value, by = (forms.of(v, lane) for v in instr.operands)
    bits = bits_of(instr.type)
    low, high = bounds.range_of(value)
    least, most = bounds.range_of(by)
    if least < 0 or most >= bits:
        return None
    if instr.op == "lshr" and low < 0:
        return forms.new_bounded(0, (1 << (bits - least)) - 1) if least > 0 else None
    if not by.terms:
        return forms.symbols.floor(value, 1 << by.const)
    corners = [x >> y for x in (low, high) for y in (least, most)]
    return forms.new_bounded(min(corners), max(corners))


def _and(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    left, right = (forms.of(v, lane) for v in instr.operands)
    if not left.terms:
        left, right = right, left
    mask = right.const
    if not right.terms and mask >= 0 and mask & (mask + 1) == 0:  # the low bits: the rest of a floor, whatever the sign
        return left.plus(forms.symbols.floor(left, mask + 1), -(mask + 1))
    ends = [bounds.range_of(f) for f in (left, right)]
    positive = [high for low, high in ends if low >= 0]
    return forms.new_bounded(0, min(positive)) if positive else None


def _or(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    left, right = (forms.of(v, lane) for v in instr.operands)
    first, second = bounds.range_of(left), bounds.range_of(right)
    if first[0] < 0 or second[0] < 0:
        return None
    for a, b, end in ((left, right, second[1]), (right, left, first[1])):
        unit = 1 << end.bit_length()
        if a.const % unit == 0 and all(c % unit == 0 for c in a.terms.values()):
            return forms.if_fits(instr, a.plus(b), bounds)  # no bit in common
    return forms.new_bounded(0, (1 << max(first[1], second[1]).bit_length()) - 1)


def _extend(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    source = instr.operands[0]
    value, bits = forms.of(source, lane), bits_of(source.type)
    if bits == 1:
        return forms.new_bounded(0, 1) if instr.op == "zext" else forms.new_bounded(-1, 0)
    if instr.op == "sext" or bounds.implies_within(value, 0, signed_range(bits)[1]):
        return value
    return forms.new_bounded(0, (1 << bits) - 1)


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
    ends = [bounds.range_of(form) for form, bounds in ways]
    return forms.new_bounded(min(low for low, _ in ends), max(high for _, high in ends))


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
        unsigned = instr.callee.args[0].startswith("u") or instr.callee.args[0] == "size_t"
        if unsigned and bits < bits_of(instr.type) and not bounds.implies_within(value, 0, signed_range(bits)[1]):
            return forms.new_bounded(0, (1 << bits) - 1)
        return forms.if_fits(instr, value, bounds)
    rule = BUILTIN_RULES.get(instr.callee.name)
    return rule(forms, instr, lane, bounds) if rule else None


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
