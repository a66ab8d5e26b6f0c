"""Which pointer arguments a kernel may write through, read off its IR."""

from __future__ import annotations

from ...clc import ir

_DERIVING = frozenset(
    ("gep", "bitcast", "addrspacecast", "phi", "select", "freeze", "insertelement", "extractelement", "shufflevector")
)
"""Operations whose result may point where a pointer operand points."""

_READING_CALLS = ("vload", "vloada", "prefetch", "async_work_group_copy", "async_work_group_strided_copy", "printf")


def written_params(function: ir.Function) -> frozenset[int]:
    """Indices of parameters through which the kernel may store: pointers stored to, or gone where that cannot be seen."""
    return frozenset(
        param.index for param in function.params if isinstance(param.type, ir.Pointer) and _escapes_or_stores(function, param)
    )


def _escapes_or_stores(function: ir.Function, param: ir.Param) -> bool:
    pointers = _derived(function, param)
    return any(
        id(operand) in pointers and _changes(instr, position)
        for block in function.blocks
        for instr in block.instrs
        for position, operand in enumerate(instr.operands)
    )


def _derived(function: ir.Function, param: ir.Param) -> set[int]:
    """Ids of the values that may point into what `param` points to."""
    found, before = {id(param)}, 0
    while len(found) != before:  # a phi may come before the value it takes from a later block
        before = len(found)
        for block in function.blocks:
            for instr in block.instrs:
                if instr.op in _DERIVING and any(id(operand) in found for operand in instr.operands):
                    found.add(id(instr))
    return found


def _changes(instr: ir.Instr, position: int) -> bool:
    """Whether `instr` may store through the pointer at operand `position`, or hide it from this analysis."""
    if instr.op in _DERIVING or instr.op in ("load", "icmp"):
        return False
    if instr.op in ("memcpy", "memmove"):
        return position == 0
    if instr.op == "call" and instr.callee:
        reading = instr.callee.name.startswith(_READING_CALLS)
        return not reading or (instr.callee.name.startswith("async_") and position == 0)
    return True
