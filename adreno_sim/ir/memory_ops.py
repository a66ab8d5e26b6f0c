"""The instructions that access memory: the subject of checks, proofs and counts."""

from __future__ import annotations

from . import ir, llvm_types
from .builtins import builtin_of
from .provenance import is_pointer


def touches_memory(instr: ir.Instr) -> bool:
    """Returns whether `instr` makes accesses that may need a check. A vector or a block copy counts as one."""
    if instr.op == "call":
        return bool(builtin_of(instr).image) or any(is_pointer(v) for v in instr.operands)
    return instr.op in ("load", "store", "atomicrmw", "cmpxchg", "memcpy", "memmove", "memset")


def is_plain_load(instr: ir.Instr) -> bool:
    """Returns whether `instr` is a load, maybe of a vector, and nothing else."""
    if instr.op != "call":
        return instr.op == "load"
    vector = builtin_of(instr).vector
    return vector is not None and not vector.stores


def is_plain_store(instr: ir.Instr) -> bool:
    """Returns whether `instr` is a store, maybe of a vector, and nothing else."""
    if instr.op != "call":
        return instr.op == "store"
    vector = builtin_of(instr).vector
    return vector is not None and vector.stores


def moved_type(instr: ir.Instr) -> ir.Type:
    """Returns the type of what `instr` stores, if it is a plain store, else of what it gives."""
    return ir.type_of(instr.operands[0]) if is_plain_store(instr) else instr.type


def claimed_alignment(instr: ir.Instr) -> int:
    """Returns the alignment that a load or store claims, at most its type's own; of vloadN and vstoreN an element's; else 1."""
    type = moved_type(instr)
    if instr.op in ("load", "store"):
        return min(instr.align or llvm_types.align_of(type), llvm_types.align_of(type))
    vector = builtin_of(instr).vector
    return 1 if vector is None or vector.half else llvm_types.size_of(llvm_types.elem_of(type))


def is_atomic(instr: ir.Instr) -> bool:
    """Returns whether `instr` is an atomic operation."""
    return instr.op in ("atomicrmw", "cmpxchg") or builtin_of(instr).atomic


def fence_flags(instr: ir.Instr) -> ir.Value | None:
    """Returns the operand of a barrier or fence that says which memory it orders; None if it has none."""
    return instr.operands[0] if builtin_of(instr).fence_flags and instr.operands else None


def address_operands(instr: ir.Instr) -> list[ir.Value]:
    """Returns the operands that point to the memory that `instr` accesses, images included."""
    if instr.op == "store":
        return [instr.operands[1]]
    return [v for v in instr.operands if is_pointer(v) or isinstance(ir.type_of(v), ir.Image)]
