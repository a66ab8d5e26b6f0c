"""Dead code elimination. Memory accesses and calls stay, since they can cause findings."""

from __future__ import annotations

from ...ir.ir import Function, Instr, Value
from ...ir.queries import may_leave_vector

_PURE = frozenset((
    "add", "sub", "mul", "and", "or", "xor", "fadd", "fsub", "fmul", "fneg", "icmp", "fcmp", "trunc", "zext", "sext",
    "fptrunc", "fpext", "uitofp", "sitofp", "bitcast", "addrspacecast", "select", "extractelement", "insertelement",
    "shufflevector", "extractvalue", "insertvalue", "gep", "phi", "freeze", "ptrtoint", "inttoptr",
))  # fmt: skip
"""Operations that can neither fault nor be reported, unless they index a vector beyond its end."""


def eliminate_dead_code(function: Function) -> None:
    """Removes pure instructions without a use, transitively."""
    used: set[Value] = set()
    pending: list[Instr] = [instr for block in function.blocks for instr in block.instrs if not _is_pure(instr)]
    while pending:
        for operand in pending.pop().operands:
            if operand not in used:
                used.add(operand)
                if isinstance(operand, Instr):
                    pending.append(operand)
    for block in function.blocks:
        block.instrs = [instr for instr in block.instrs if instr in used or not _is_pure(instr)]


def _is_pure(instr: Instr) -> bool:
    return instr.op in _PURE and not may_leave_vector(instr)
