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
    pointers = _derived_pointers(function, param)
    return frozenset(
        _element_of(instr)
        for block in function.blocks
        for instr in block.instrs
        if (is_plain_store(instr) if stores else is_plain_load(instr))
        and any(id(operand) in pointers for operand in address_operands(instr))
    )


def _element_of(instr: ir.Instr) -> ir.Type:
    vector = builtin_of(instr).vector
    return ir.Float(16) if vector is not None and vector.half else llvm_types.elem_of(moved_type(instr))


def _images_other_than(access: str, function: ir.Function) -> frozenset[int]:
    return frozenset(p.index for p in function.params if isinstance(p.type, ir.Image) and p.type.access != access)


def _params_with_use(function: ir.Function, wanted: Callable[[ir.Instr, int], bool]) -> frozenset[int]:
    return frozenset(p.index for p in function.params if isinstance(p.type, ir.Pointer) and _any_use(function, p, wanted))


def _any_use(function: ir.Function, param: ir.Param, wanted: Callable[[ir.Instr, int], bool]) -> bool:
    """Returns whether `wanted(instr, operand number)` holds for some use of a pointer derived from `param`."""
    pointers = _derived_pointers(function, param)
    return any(
        id(operand) in pointers and wanted(instr, position)
        for block in function.blocks
        for instr in block.instrs
        for position, operand in enumerate(instr.operands)
    )


def _derived_pointers(function: ir.Function, param: ir.Param) -> set[int]:
    """Returns the ids of the values that may point into the object of `param`."""
    found, before = {id(param)}, 0
    while len(found) != before:  # a phi may come before the value it takes from a later block
        before = len(found)
        for block in function.blocks:
            for instr in block.instrs:
                if instr.op in _DERIVING and any(id(operand) in found for operand in instr.operands):
                    found.add(id(instr))
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
