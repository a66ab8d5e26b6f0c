"""Which private arrays NIR can hold as arrays, in registers where it likes: all their elements have one size, and every access
is of whole elements through a pointer that is known to be of this array. The others are in private memory."""

from __future__ import annotations

from collections import defaultdict

from ...ir import ir, layout
from ...ir.builtins import builtin_of
from ...ir.provenance import gep_terms
from .translation import bits_of, constant_index, lane_type, leaf_types, leaves_of

_IGNORED = ("llvm.lifetime.start", "llvm.lifetime.end")


def find_arrays(function: ir.Function) -> dict[int, int]:
    """Returns, by the id of its alloca, the bytes of an element of each such array."""
    uses: dict[int, list[ir.Instr]] = defaultdict(list)
    allocas: list[ir.Instr] = []
    for block in function.blocks:
        for instr in block.instrs:
            for operand in {id(operand): operand for operand in instr.operands}.values():
                uses[id(operand)].append(instr)
            if instr.op == "alloca":
                allocas.append(instr)
    found = {}
    for alloca in allocas:
        assert alloca.elem is not None
        sizes = {layout.size_of(type) for type in leaf_types(alloca.elem)}
        if len(sizes) == 1 and _is_array(alloca, next(iter(sizes)), uses):
            found[id(alloca)] = next(iter(sizes))
    return found


def _is_array(pointer: ir.Instr, unit: int, uses: dict[int, list[ir.Instr]]) -> bool:
    for user in uses[id(pointer)]:
        if user.op == "gep" and user.operands[0] is pointer:
            if not (_steps_whole(user, unit) and _is_array(user, unit, uses)):
                return False
        elif not _is_access(user, pointer, unit):
            return False
    return True


def _is_access(user: ir.Instr, pointer: ir.Instr, unit: int) -> bool:
    """Whether an instruction accesses whole elements through the pointer, and does nothing else with it."""
    if user.op in ("load", "store"):
        type = user.type if user.op == "load" else ir.type_of(user.operands[0])
        return user.operands[-1] is pointer and (user.op == "load" or user.operands[0] is not pointer) and _fits(type, unit)
    if user.op == "undefine":
        return True
    if user.op == "memset":
        return _is_whole(user.operands[2], unit)
    if user.op in ("memcpy", "memmove"):
        other = user.operands[1] if user.operands[0] is pointer else user.operands[0]
        type = ir.type_of(other)
        return isinstance(type, ir.Pointer) and type.space != ir.PRIVATE and _is_whole(user.operands[2], unit)
    if user.op != "call" or user.callee is None:
        return False
    vector = builtin_of(user).vector
    if vector is not None:
        type = lane_type(ir.type_of(user.operands[0]) if vector.stores else user.type)
        return user.operands[0] is not pointer and (2 if vector.half else layout.size_of(type)) == unit
    return user.callee.name.startswith(_IGNORED)


def _fits(type: ir.Type, unit: int) -> bool:
    return all(
        layout.size_of(leaf) == unit and offset % unit == 0 and (leaf == ir.Int(1) or bits_of(leaf) == unit * 8)
        for offset, leaf in leaves_of(type)
    )


def _is_whole(length: ir.Value, unit: int) -> bool:
    count = constant_index(length)
    return count is not None and count % unit == 0


def _steps_whole(gep: ir.Instr, unit: int) -> bool:
    """Whether an address moves by whole elements."""
    known, terms = gep_terms(gep)
    for position, size in terms:
        constant = constant_index(gep.operands[position])
        if constant is None and size % unit:
            return False
        known += (constant or 0) * size
    return known % unit == 0
