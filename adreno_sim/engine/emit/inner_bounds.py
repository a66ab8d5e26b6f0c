"""Bounds of arrays inside larger objects: rows of a private or local array, and array fields of a struct.

An index beyond such an array lands in the next row or field, inside the object whose bounds accesses are checked against, so
only the indexed type shows the error. Subscripts of arrays (`t[i][j]`, `s.a[j]`) are checked if memory is accessed there. Not
checked are pointer arithmetic from the first element, and the last field of a struct if it has at most one element (a
flexible array).
"""

from __future__ import annotations

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ...ir.queries import type_of_variable
from ...records import dataclass
from .diagnostic_sites import DiagnosticSite
from .emitter import Emitter


@dataclass(frozen=True)
class IndexStep:
    """One index of a gep: its position, the array it indexes, the struct with that array as a field, and the operand."""

    level: int
    array: ir.Type
    parent: ir.Type | None
    index: str | int


def emit_index_checks(e: Emitter, gep: ir.Instr, steps: list[IndexStep], pointer: Ptr) -> None:
    """Emits a report for every index with which `gep` leaves an array but not the object. `pointer` is its result."""
    if not e.unit.checked:
        return
    nbytes = accessed_bytes(e, gep)
    for step in steps if nbytes is not None else ():
        if isinstance(step.array, ir.Array) and not is_whole_variable(gep, step.level) and not is_open_ended(gep, step):
            _emit_check(e, step.array, step.index, nbytes if step.level == len(gep.operands) - 2 else 0, pointer)


def _emit_check(e: Emitter, array: ir.Array, index: str | int, nbytes: int | None, pointer: Ptr) -> None:
    element = llvm_types.size_of(array.elem)
    last = (array.count * element - (nbytes or element)) // element
    if (isinstance(index, int) and 0 <= index <= last) or (e.unit.proves_in_range(e.current) and last == array.count - 1):
        return
    beyond = "true" if last < 0 else e.body.op(f"icmp ugt i64 {index}, {last}")
    inside = e.body.op(f"icmp ult i64 {pointer.offset}, {pointer.length}")
    text = f"index {{index}} of an array of {array.count}: the access leaves that array, though not the object it is part of"
    site = DiagnosticSite(Kind.SUB_OBJECT_OVERRUN, e.loc, "index", size=nbytes or element, text=text)
    e.report_if(e.body.op(f"and i1 {beyond}, {inside}"), site, index)


def is_whole_variable(gep: ir.Instr, level: int) -> bool:
    """Returns whether the indexed array is a whole variable, whose bounds are those of the object."""
    first = gep.operands[1]
    whole = gep.elem is not None and type_of_variable(gep.operands[0]) == gep.elem  # else it is the variable's first row
    return whole and level == 1 and isinstance(first, ir.Const) and first.value == 0


def is_open_ended(gep: ir.Instr, step: IndexStep) -> bool:
    """Returns whether the indexed array is the last field of a struct and has at most one element."""
    assert isinstance(step.array, ir.Array)
    parent = step.parent or (_struct_of(gep.operands[0]) if step.level == 1 else None)
    return step.array.count <= 1 and isinstance(parent, ir.Struct) and parent.fields[-1] == step.array


def _struct_of(pointer: ir.Value) -> ir.Type | None:
    """Returns the struct of whose field `pointer` is the address. clang makes that a separate gep."""
    if not isinstance(pointer, ir.Instr) or pointer.op != "gep":
        return None
    type, parent = pointer.elem, None
    for index in pointer.operands[2:]:
        parent = type
        if isinstance(type, ir.Struct):
            assert isinstance(index, ir.Const)
            assert isinstance(index.value, int)
            type = type.fields[index.value]
        else:
            type = type.elem if isinstance(type, (ir.Array, ir.Vector)) else None
    return parent


def accessed_bytes(e: Emitter, gep: ir.Instr) -> int | None:
    """Returns the bytes that a load or store accesses at the result of `gep`; 0 if another gep or a call decides; None if
    nothing accesses it."""
    found = None
    for user in e.users.get(id(gep), ()):
        if user.op == "load":
            found = max(found or 0, llvm_types.size_of(user.type))
        elif user.op == "store" and user.operands[1] is gep:
            found = max(found or 0, llvm_types.size_of(user.operands[0].type))
        elif (user.op == "call" and user.operands) or (user.op == "gep" and accessed_bytes(e, user) is not None):
            found = found or 0
    return found
