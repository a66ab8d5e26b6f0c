"""The interval of an integer instruction's or built-in's result, from those of its operands: one rule for an operation.

A rule gives what the operation yields without wrap, read as signed; a result that may not fit its type is not bounded. All
analyses of integers share these rules. `affine_rules` and `index_builtins` know more of results that are linear in the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...base.integers.interval import Interval, signed_range
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of


class Source(NamedTuple):
    """How an operation reads its operands: the bits of the first, and whether they are unsigned."""

    bits: int
    unsigned: bool = False


Rule = Callable[..., "Interval | None"]
"""The interval of a result, from the source and the interval of each operand, as it is read."""


def find_interval(instr: ir.Instr, range_of: Callable[[ir.Value], Interval]) -> Interval | None:
    """Returns the interval of the result, or of each lane, of an operation on integers, from the ranges of its operands. None
    if no rule bounds it, or where it may wrap."""
    rule = _rule_of(instr)
    if rule is None or not all(isinstance(llvm_types.elem_of(value.type), ir.Int) for value in instr.operands):
        return None
    source = Source(bits_of(instr.operands[0].type), _reads_unsigned(instr))
    found = apply_rule(rule, source, [range_of(value) for value in instr.operands])
    return found if found is not None and found.fits(bits_of(instr.type)) else None


def apply_rule(rule: Rule, source: Source, operands: Sequence[Interval]) -> Interval | None:
    """Returns the interval of a result, from the signed intervals of operands."""
    return rule(source, *(operand.as_unsigned(source.bits) if source.unsigned else operand for operand in operands))


def _rule_of(instr: ir.Instr) -> Rule | None:
    if instr.op != "call":
        return INSTRUCTION_RULES.get(instr.op)
    assert instr.callee is not None
    return INSTRUCTION_RULES["sext"] if builtin_of(instr).plain_conversion else BUILTIN_RULES.get(instr.callee.name)


def _reads_unsigned(instr: ir.Instr) -> bool:
    """Returns whether an operation that has a rule reads its operands as unsigned, and does not take their bits unchanged."""
    if instr.op != "call":
        return instr.op in UNSIGNED
    assert instr.callee is not None
    if builtin_of(instr).plain_conversion and bits_of(instr.operands[0].type) >= bits_of(instr.type):
        return False
    return instr.callee.name != "select" and is_unsigned(instr, 0)


def bits_of(type: ir.Type) -> int:
    """Returns the bits of an integer or of one lane; an address has 64."""
    elem = llvm_types.elem_of(type)
    return elem.bits if isinstance(elem, ir.Int) else 64


def is_unsigned(instr: ir.Instr, operand: int) -> bool:
    """Returns whether an operand of a built-in function is unsigned in the source. IR types do not tell."""
    assert instr.callee is not None
    return instr.callee.args[operand].startswith("u") or instr.callee.args[operand] == "size_t"


def _plain(rule: Callable[..., Interval | None]) -> Rule:
    """Returns the rule of an operation that does the same with operands of all types."""
    return lambda source, *operands: rule(*operands)


def _shift_right(source: Source, value: Interval, amount: Interval) -> Interval | None:
    return value.shifted_right(amount, source.bits)


def _count_leading_zeros(source: Source, value: Interval) -> Interval:
    low, high = value.as_unsigned(source.bits)
    return Interval(source.bits - high.bit_length(), source.bits - low.bit_length())


def _count_ones(source: Source, value: Interval) -> Interval:
    return Interval(0, value.as_unsigned(source.bits).high.bit_length())


def factors_24(unsigned: bool) -> Interval:
    """Returns the numbers for which mul24 and mad24 use all bits."""
    return Interval(0, (1 << 24) - 1) if unsigned else signed_range(24)


def _multiply_24_bits(source: Source, a: Interval, b: Interval, *added: Interval) -> Interval | None:
    """mul24 and mad24: the product, if both factors fit 24 bits (OpenCL C 6.15.3)."""
    whole = factors_24(source.unsigned)
    if not whole.holds(a) or not whole.holds(b):
        return None
    return a.times(b).plus(added[0]) if added else a.times(b)


INSTRUCTION_RULES: dict[str, Rule] = {
    "add": _plain(Interval.plus),
    "sub": _plain(Interval.minus),
    "mul": _plain(Interval.times),
    "sdiv": _plain(Interval.quotient),
    "srem": _plain(Interval.remainder),
    "udiv": _plain(Interval.quotient),
    "urem": _plain(Interval.remainder),
    "shl": lambda source, value, amount: value.shifted_left(amount, source.bits),
    "ashr": _shift_right,
    "lshr": _shift_right,
    "and": _plain(Interval.bits_and),
    "or": _plain(Interval.bits_or),
    "xor": _plain(Interval.bits_xor),
    "sext": _plain(lambda value: value),
    "zext": _plain(lambda value: value),
    "trunc": _plain(lambda value: value),
    "freeze": _plain(lambda value: value),
}

UNSIGNED = ("udiv", "urem", "lshr", "zext")
"""Instructions that read their operands as unsigned."""

BUILTIN_RULES: dict[str, Rule] = {
    "min": _plain(Interval.minimum),
    "max": _plain(Interval.maximum),
    "clamp": _plain(lambda value, low, high: value.maximum(low).minimum(high)),
    "abs": _plain(Interval.absolute),
    "select": _plain(lambda a, b, condition: Interval.hull([a, b])),
    "clz": _count_leading_zeros,
    "ctz": lambda source, value: Interval(0, source.bits),
    "popcount": _count_ones,
    "mul24": _multiply_24_bits,
    "mad24": _multiply_24_bits,
}
