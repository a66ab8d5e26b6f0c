"""Instructions of a kernel that touch memory: what checks, proofs and counts are about."""

from __future__ import annotations

import re

from . import ir
from .provenance import is_pointer

IMAGE = re.compile(r"(read|write)_image(f|h|i|ui)")


def touches_memory(instr: ir.Instr) -> bool:
    """Whether `instr` makes accesses that a check may be needed for. A vector, or a block that is copied, counts once."""
    if instr.op == "call":
        assert instr.callee is not None
        return bool(IMAGE.fullmatch(instr.callee.name)) or any(is_pointer(v) for v in instr.operands)
    return instr.op in ("load", "store", "atomicrmw", "cmpxchg", "memcpy", "memmove", "memset")


def is_plain_load(instr: ir.Instr) -> bool:
    """Whether `instr` is a load, of a vector perhaps, and nothing else."""
    return instr.op == "load" or (instr.callee is not None and instr.callee.name.startswith("vload"))


def address_operands(instr: ir.Instr) -> list[ir.Value]:
    """Operands that lead to the memory that `instr` touches."""
    if instr.op == "store":
        return [instr.operands[1]]
    return [v for v in instr.operands if is_pointer(v) or isinstance(ir.type_of(v), ir.Image)]
