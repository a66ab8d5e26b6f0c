"""Induction variables: phis of a loop's header to which every iteration adds the same number. One place finds them.

What is added is a number of the text, or what a caller knows to be one: of a launch, an argument. Sums may wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from . import ir
from .provenance import gep_terms

NumberOf = Callable[[ir.Value], "int | None"]


class InductionVariable(NamedTuple):
    """`phi` begins as one of `starts`; back edges bring one of `nexts`, which is `step` more, in bytes if it is an address."""

    phi: ir.Instr
    starts: list[ir.Value]
    nexts: list[ir.Value]
    step: int


def signed_constant(value: ir.Value) -> int | None:
    """Returns the signed number that an integer constant is; None for other values."""
    if isinstance(value, ir.Const) and isinstance(value.value, int) and isinstance(value.type, ir.Int):
        return signed(value.value, value.type.bits)
    return None


def signed(value: int, bits: int) -> int:
    """Returns the low `bits` of `value` read as a signed integer."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def find_induction_variable(phi: ir.Instr, is_inside: Callable[[ir.Block], bool]) -> InductionVariable | None:
    """Returns the induction variable that a phi of a loop's header is, by the text; None if it is none. is_inside: whether a
    block is of the loop."""
    edges = list(zip(phi.operands, phi.blocks, strict=True))
    nexts = [value for value, block in edges if is_inside(block)]
    step = find_step(phi, nexts)
    return None if step is None else InductionVariable(phi, [v for v, block in edges if not is_inside(block)], nexts, step)


def find_step(phi: ir.Instr, nexts: Iterable[ir.Value], number_of: NumberOf = signed_constant) -> int | None:
    """Returns what each of `nexts` is more than a phi, None if that is not one number. number_of: what a value is known to be."""
    steps = {_difference(value, phi, number_of) for value in nexts}
    return steps.pop() if len(steps) == 1 else None


def _difference(value: ir.Value, phi: ir.Instr, number_of: NumberOf) -> int | None:
    if not isinstance(value, ir.Instr) or value.op not in ("add", "sub", "gep"):
        return None
    left, *others = value.operands
    if value.op == "add" and others[0] is phi:
        left, others = phi, [left]
    if left is not phi:
        return None
    total, parts = 0, [(others[0], -1 if value.op == "sub" else 1)]
    if value.op == "gep":
        total, terms = gep_terms(value)
        parts = [(value.operands[number], stride) for number, stride in terms]
    for part, factor in parts:
        number = number_of(part)
        if number is None:
            return None
        total += factor * number
    return total
