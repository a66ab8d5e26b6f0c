"""Recovers shift amounts as the source wrote them: clang masks them, and the check of over-wide shifts needs the original."""

from __future__ import annotations

from ...ir import ir, llvm_types


def written_amount(shift: ir.Instr) -> ir.Value | None:
    """Returns the amount before clang's mask and conversion; None if it is known to fit, or `shift` is not a shift."""
    if shift.op not in ("shl", "lshr", "ashr"):
        return None
    elem = llvm_types.elem_of(shift.type)
    assert isinstance(elem, ir.Int)
    amount, last = shift.operands[1], elem.bits - 1
    if not (isinstance(amount, ir.Instr) and amount.op == "and" and _is(amount.operands[1], last)):
        return None
    source = amount.operands[0]
    while isinstance(source, ir.Instr) and source.op in ("trunc", "zext", "sext"):
        source = source.operands[0]
    small = isinstance(source, ir.Instr) and source.op == "and" and _at_most(source.operands[1], last)
    return None if small or isinstance(source, ir.Const) else source


def _lanes_of(value: ir.Value) -> list[object]:
    if not isinstance(value, ir.Const):
        return [None]
    return [lane.value for lane in value.value] if isinstance(value.value, tuple) else [value.value]


def _is(value: ir.Value, number: int) -> bool:
    return all(lane == number for lane in _lanes_of(value))


def _at_most(value: ir.Value, number: int) -> bool:
    return all(isinstance(lane, int) and 0 <= lane <= number for lane in _lanes_of(value))
