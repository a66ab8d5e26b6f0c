"""The instructions that access memory: the subject of checks, proofs and counts."""

from __future__ import annotations

import re

from . import ir
from .provenance import is_pointer

IMAGE = re.compile(r"(read|write)_image(f|h|i|ui)")


def touches_memory(instr: ir.Instr) -> bool:
    """Returns whether `instr` makes accesses that may need a check. A vector or a block copy counts as one."""
    if instr.op == "call":
        assert instr.callee is not None
        return bool(IMAGE.fullmatch(instr.callee.name)) or any(is_pointer(v) for v in instr.operands)
    return instr.op in ("load", "store", "atomicrmw", "cmpxchg", "memcpy", "memmove", "memset")


def is_plain_load(instr: ir.Instr) -> bool:
    """Returns whether `instr` is a load, maybe of a vector, and nothing else."""
    return instr.op == "load" or (instr.callee is not None and instr.callee.name.startswith("vload"))


def address_operands(instr: ir.Instr) -> list[ir.Value]:
    """Returns the operands that point to the memory that `instr` accesses, images included."""
    if instr.op == "store":
        return [instr.operands[1]]
    return [v for v in instr.operands if is_pointer(v) or isinstance(ir.type_of(v), ir.Image)]
