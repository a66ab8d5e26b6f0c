"""Mod/ref analysis of pointer arguments: which a kernel may write through, and which it may read through."""

from __future__ import annotations

from collections.abc import Callable

from . import ir, llvm_types
from .builtins import Effect, builtin_of
from .memory_ops import address_operands, is_atomic, is_plain_load, is_plain_store, moved_type
from .provenance import is_pointer

_DERIVING = frozenset(
    ("gep", "bitcast", "addrspacecast", "phi", "select", "freeze", "insertelement", "extractelement", "shufflevector")
)
"""Operations whose result may point into the object of an operand."""


def written_arguments(function: ir.Function) -> frozenset[int]:
    """Returns the indices of the arguments that the kernel may write: images by their qualifier, memory by the stores through a
    pointer. A pointer that escapes the analysis counts."""
    return function.fact("written", lambda f: _params_with_use(f, _may_write) | _images_other_than("read_only", f))


def read_arguments(function: ir.Function) -> frozenset[int]:
    """Returns the indices of the arguments that the kernel may read, found as those that it may write."""
    return function.fact("read", lambda f: _params_with_use(f, _may_read) | _images_other_than("write_only", f))


def atomic_arguments(function: ir.Function) -> frozenset[int]:
    """Returns the indices of the arguments to which the kernel may apply atomic operations."""
    return function.fact("atomic", lambda f: _params_with_use(f, lambda instr, position: position == 0 and is_atomic(instr)))


def moved_elements(function: ir.Function, param: ir.Param, stores: bool) -> frozenset[ir.Type]:
    """Returns the types of the elements that plain stores write through pointers derived from `param`, or that loads read. Of
    vloada_half and similar functions it is a half, whatever the kernel computes with."""
    origins, bit = _find_origins(function), 1 << param.index
    return frozenset(
        _element_of(instr)
        for block in function.blocks
        for instr in block.instrs
        if (is_plain_store(instr) if stores else is_plain_load(instr))
        and any(origins.get(id(operand), 0) & bit for operand in address_operands(instr))
    )


def _element_of(instr: ir.Instr) -> ir.Type:
    vector = builtin_of(instr).vector
    return ir.Float(16) if vector is not None and vector.half else llvm_types.elem_of(moved_type(instr))


def _images_other_than(access: str, function: ir.Function) -> frozenset[int]:
    return frozenset(p.index for p in function.params if isinstance(p.type, ir.Image) and p.type.access != access)


def _params_with_use(function: ir.Function, wanted: Callable[[ir.Instr, int], bool]) -> frozenset[int]:
    """Returns the indices of the pointers for which `wanted(instr, operand number)` holds at some use of what they lead to."""
    origins, found = _find_origins(function), 0
    for block in function.blocks:
        for instr in block.instrs:
            for position, operand in enumerate(instr.operands):
                new = origins.get(id(operand), 0) & ~found
                if new and wanted(instr, position):
                    found |= new
    return frozenset(p.index for p in function.params if found >> p.index & 1)


def _find_origins(function: ir.Function) -> dict[int, int]:
    """Returns, by id, which values may point into the objects of parameters: a bit for the index of each."""
    found = {id(param): 1 << param.index for param in function.params if isinstance(param.type, ir.Pointer)}
    deriving = [instr for block in function.blocks for instr in block.instrs if instr.op in _DERIVING]
    settled = False
    while not settled:  # a phi may come before the value it takes from a later block
        settled = True
        for instr in deriving:
            before = origins = found.get(id(instr), 0)
            for operand in instr.operands:
                origins |= found.get(id(operand), 0)
            if origins != before:
                found[id(instr)], settled = origins, False
    return found


def _may_write(instr: ir.Instr, position: int) -> bool:
    """Returns whether `instr` may store through the pointer at operand `position`, or lets it escape."""
    if instr.op in _DERIVING or instr.op in ("load", "icmp"):
        return False
    if instr.op in ("memcpy", "memmove"):
        return position == 0
    return instr.op != "call" or _effect(instr, position) in ("write", "read_write")


def _may_read(instr: ir.Instr, position: int) -> bool:
    """Returns whether `instr` may load through the pointer at operand `position`, or lets it escape."""
    if instr.op in _DERIVING or instr.op in ("icmp", "memset"):
        return False
    if instr.op == "store":
        return position == 0
    if instr.op in ("memcpy", "memmove"):
        return position == 1
    return instr.op != "call" or _effect(instr, position) != "write"


def _effect(call: ir.Instr, position: int) -> Effect:
    """What a call does through the pointer at operand `position`."""
    return builtin_of(call).effect(sum(is_pointer(operand) for operand in call.operands[:position]))
