"""The interval of an integer instruction's or built-in's result, from those of its operands: one rule for an operation.

A rule gives what the operation yields without wrap, read as signed; a result that may not fit its type is not bounded. All
analyses of integers share these rules. `affine_rules` and `index_builtins` know more of results that are linear in the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ...base.integers.interval import Interval, signed_range
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of


class Source(NamedTuple):
    """The type of an operation's first operand: its bits, and whether a built-in takes it as unsigned."""

    bits: int
    unsigned: bool = False


Rule = Callable[..., "Interval | None"]
"""The interval of a result, from the source and the interval of each operand."""


def find_interval(instr: ir.Instr, range_of: Callable[[ir.Value], Interval]) -> Interval | None:
    """Returns the interval of the result, or of each lane, of an operation on integers, from the ranges of its operands. None
    where no rule bounds it, or where it may wrap."""
    rule = _rule_of(instr)
    if rule is None or not all(isinstance(llvm_types.elem_of(value.type), ir.Int) for value in instr.operands):
        return None
    found = rule(*map(range_of, instr.operands))
    return found if found is not None and found.fits(bits_of(instr.type)) else None


def _rule_of(instr: ir.Instr) -> Callable[..., Interval | None] | None:
    """Returns the rule of an operation: what gives its interval from those of its operands."""
    if instr.op != "call":
        rule = INSTRUCTION_RULES.get(instr.op)
        return rule and partial(rule, Source(bits_of(instr.operands[0].type)))
    assert instr.callee is not None
    converts = builtin_of(instr).plain_conversion
    rule = BUILTIN_RULES.get(instr.callee.name)
    if not rule and not converts:
        return None
    source = Source(bits_of(instr.operands[0].type), is_unsigned(instr, 0))
    if converts:
        rule = INSTRUCTION_RULES["zext" if source.unsigned and source.bits < bits_of(instr.type) else "sext"]
    return rule and partial(rule, source)


def bits_of(type: ir.Type) -> int:
    """Returns the bits of an integer or of one lane; an address has 64."""
    elem = llvm_types.elem_of(type)
    return elem.bits if isinstance(elem, ir.Int) else 64


def is_unsigned(instr: ir.Instr, operand: int) -> bool:
    """Returns whether an operand of a built-in function is unsigned in the source. IR types do not tell."""
    assert instr.callee is not None
    return instr.callee.args[operand].startswith("u") or instr.callee.args[operand] == "size_t"


def _plain(rule: Callable[..., Interval | None]) -> Rule:
    """Returns the rule of an operation that does not depend on the bits of its operands, or on whether they are signed."""
    return lambda _, *operands: rule(*operands)


def _if_positive(rule: Callable[..., Interval | None]) -> Rule:
    """Returns the rule of an unsigned instruction: the signed one, where no operand can be negative."""
    return lambda _, *operands: rule(*operands) if all(operand.low >= 0 for operand in operands) else None


def _comparing(rule: Callable[..., Interval]) -> Rule:
    """Returns the rule of a built-in that compares its operands. Where it is unsigned, none can be negative."""
    return lambda source, *operands: None if source.unsigned and any(o.low < 0 for o in operands) else rule(*operands)


def _shift_logically(source: Source, value: Interval, amount: Interval) -> Interval | None:
    return value.as_unsigned(source.bits).shifted_right(amount, source.bits)


def _count_leading_zeros(source: Source, value: Interval) -> Interval:
    low, high = value.as_unsigned(source.bits)
    return Interval(source.bits - high.bit_length(), source.bits - low.bit_length())


def _count_ones(source: Source, value: Interval) -> Interval:
    return Interval(0, value.as_unsigned(source.bits).high.bit_length())


def factors_24(unsigned: bool) -> Interval:
    """Returns the numbers of which mul24 and mad24 look at all bits."""
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
    "udiv": _if_positive(Interval.quotient),
    "urem": _if_positive(Interval.remainder),
    "shl": lambda source, value, amount: value.shifted_left(amount, source.bits),
    "ashr": lambda source, value, amount: value.shifted_right(amount, source.bits),
    "lshr": _shift_logically,
    "and": _plain(Interval.bits_and),
    "or": _plain(Interval.bits_or),
    "xor": _plain(Interval.bits_xor),
    "sext": _plain(lambda value: value),
    "zext": lambda source, value: value.as_unsigned(source.bits),
    "trunc": _plain(lambda value: value),
    "freeze": _plain(lambda value: value),
}

BUILTIN_RULES: dict[str, Rule] = {
    "min": _comparing(Interval.minimum),
    "max": _comparing(Interval.maximum),
    "clamp": _comparing(lambda value, low, high: value.maximum(low).minimum(high)),
    "abs": lambda source, value: value if source.unsigned else value.absolute(),
    "select": lambda _, a, b, condition: Interval.hull([a, b]),
    "clz": _count_leading_zeros,
    "ctz": lambda source, value: Interval(0, source.bits),
    "popcount": _count_ones,
    "mul24": _multiply_24_bits,
    "mad24": _multiply_24_bits,
}
