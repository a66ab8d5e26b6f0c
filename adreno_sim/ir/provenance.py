"""Provenance of pointers: the memory object a pointer points into, if SSA shows it, and the alignment of its offset.

A pointer value is a base object plus a byte offset that wraps. If every path leads to one object, the base is known at
compile time ("static"). Where paths join, base and length are run-time values. A pointer loaded from memory or made from an
integer is looked up by address among the objects of its work-item.
"""

from __future__ import annotations

from collections.abc import Hashable

from ..records import dataclass
from . import ir, llvm_types

ALIGNED = 128
"""The alignment of every object's base: that of the largest OpenCL C type. The launch checks buffers."""

ObjectId = tuple[str, Hashable]
NULL: ObjectId = ("null", 0)


@dataclass(frozen=True, slots=True)
class Object:
    """A memory object in one LLVM function: the operand of its base (`ptr`), and its length in bytes (an int or an i64
    operand)."""

    id: ObjectId
    name: str
    kind: str  # buffer, constant, local, private, null
    base: str
    length: str | int


@dataclass(frozen=True, slots=True)
class Ptr:
    """An emitted pointer value: base, length, offset (an int if constant) and the alignment of the offset.

    `address` is base plus offset once more, if it was computed index by index: LLVM analyses that form better in loops than
    one sum of bytes.
    """

    base: str
    length: str | int
    offset: str | int
    align: int = 1
    object: Object | None = None
    address: str | None = None


DERIVING = ("gep", "bitcast", "addrspacecast", "freeze", "phi", "select")
"""Instructions that make a pointer of others, and access nothing."""


def is_pointer(value: ir.Value) -> bool:
    """Returns whether a value is an address. The type of a Global is that of its pointee."""
    return isinstance(value, ir.Global) or isinstance(value.type, ir.Pointer)


def _largest_power_of_two(value: int) -> int:
    return min(ALIGNED, value & -value) if value else ALIGNED


def stride_of(index: int, type: ir.Type) -> tuple[int, ir.Type]:
    """Returns the bytes per step of gep index number `index` into `type`, and the type it leads to."""
    if index == 0:
        return llvm_types.size_of(type), type
    if isinstance(type, (ir.Array, ir.Vector)):
        return llvm_types.size_of(type.elem), type.elem
    raise TypeError(f"gep into {type} by a variable index")


def gep_terms(gep: ir.Instr) -> tuple[int, list[tuple[int, int]]]:
    """Returns what a gep adds to its pointer: the bytes of the struct fields that it names, and for each other index its operand
    number and the bytes per step."""
    fields, terms, type = 0, [], gep.elem
    assert type is not None
    for number, index in enumerate(gep.operands[1:]):
        if number and isinstance(type, ir.Struct):
            assert isinstance(index, ir.Const)
            assert isinstance(index.value, int)
            fields += llvm_types.field_offset(type, index.value)
            type = type.fields[index.value]
        else:
            stride, type = stride_of(number, type)
            terms.append((number + 1, stride))
    return fields, terms


class Provenance:
    """The static object (or None) and the offset alignment of every pointer of a function."""

    def __init__(self, function: ir.Function):
        self._pointers = [i for b in function.blocks for i in b.instrs if isinstance(i.type, ir.Pointer)]
        self._object_ids: dict[int, ObjectId | None] = {}
        self._aligns: dict[int, int] = {}
        while self._propagate():
            pass

    def object_id(self, value: ir.Value) -> ObjectId | None:
        """Returns the object that `value` points into; None if it is not known at compile time."""
        if isinstance(value, ir.Param):
            return ("param", value.index)
        if isinstance(value, ir.Global):
            return ("global", value.name)
        if isinstance(value, ir.Const):
            return ("global", value.value.target.name) if isinstance(value.value, ir.GlobalOffset) else NULL
        return self._object_ids.get(id(value))

    def align(self, value: ir.Value) -> int:
        """Returns the largest power of two, up to 128, known to divide the offset of `value` in its object."""
        if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset):
            return _largest_power_of_two(value.value.offset)
        return self._aligns.get(id(value), 1) if isinstance(value, ir.Instr) else ALIGNED

    def _propagate(self) -> bool:
        changed = False
        for instr in self._pointers:
            fresh = self._transfer(instr)
            if fresh is not None and fresh != (self._object_ids.get(id(instr), NULL), self._aligns.get(id(instr))):
                self._object_ids[id(instr)], self._aligns[id(instr)] = fresh
                changed = True
        return changed

    def _transfer(self, instr: ir.Instr) -> tuple[ObjectId | None, int] | None:
        """Returns the object and alignment of one instruction, from its operands; None while nothing is known about them."""
        if instr.op == "alloca":
            return ("alloca", id(instr)), ALIGNED
        if instr.op in ("bitcast", "addrspacecast", "freeze"):
            return self._join([instr.operands[0]])
        if instr.op == "gep":
            start = self._join([instr.operands[0]])
            return start and (start[0], min(start[1], gep_align(instr)))
        if instr.op in ("phi", "select"):
            return self._join(instr.operands[1:] if instr.op == "select" else instr.operands)
        return None, 1

    def _join(self, values: list[ir.Value]) -> tuple[ObjectId | None, int] | None:
        known = [v for v in values if not isinstance(v, ir.Instr) or id(v) in self._object_ids]
        if not known:
            return None
        object_ids = {self.object_id(v) for v in known}
        align = min(self.align(v) for v in known)
        return (object_ids.pop() if len(object_ids) == 1 else None), align


def gep_align(instr: ir.Instr) -> int:
    """Returns the power of two that divides what a gep adds, whatever its variable indices are."""
    fields, terms = gep_terms(instr)
    align = _largest_power_of_two(fields)
    for number, stride in terms:
        index = instr.operands[number]
        constant = index.value if isinstance(index, ir.Const) and isinstance(index.value, int) else 1
        align = min(align, _largest_power_of_two(stride * constant))
    return align
