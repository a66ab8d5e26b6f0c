"""Calls of shuffle and shuffle2 with a constant mask, as instructions: which lanes they move is known, as of a swizzle."""

from __future__ import annotations

from ...ir import llvm_types
from ...ir.builtins import builtin_of
from ...ir.ir import UNDEF, Const, Function, Instr


def expand_constant_shuffles(function: Function) -> None:
    """Makes each call with a constant mask a `shufflevector`, in place."""
    for block in function.blocks:
        for instr in block.instrs:
            if builtin_of(instr).picks_lanes and (mask := _lanes_of_mask(instr)) is not None:
                first, *second = instr.operands[:-1]
                instr.op, instr.callee, instr.mask = "shufflevector", None, mask
                instr.operands = [first, *(second or [Const(first.type, UNDEF)])]


def _lanes_of_mask(instr: Instr) -> tuple[int, ...] | None:
    """Returns the lanes of the operands, counted through, that a call picks; None if its mask is not a constant."""
    *sources, mask = instr.operands
    count = llvm_types.lanes_of(instr.type)
    if not isinstance(mask, Const):
        return None
    if mask.value is None:
        return (0,) * count
    if not isinstance(mask.value, tuple):
        return None
    total = llvm_types.lanes_of(sources[0].type) * len(sources)
    items = [item.value % total for item in mask.value if isinstance(item.value, int)]
    return tuple(items) if len(items) == count else None
