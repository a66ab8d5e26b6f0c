"""Local memory of a coarse kernel: each element becomes a row of elements, one for each group.

Every type that local memory is divided into has as many elements for each of its own, so that an offset grows by the number of
groups, and an access adds its group's place. That holds where all accesses of a variable move elements of one size, at multiples
of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import ir, llvm_types
from ...ir.memory_ops import is_plain_load
from ...ir.provenance import DERIVING, ObjectId, Provenance, is_pointer
from ...ir.queries import globals_of


class LocalMemory:
    """The local variables and arguments of a kernel, and which pointers lead to them."""

    def __init__(self, kernel: ir.Function):
        self._provenance = Provenance(kernel)
        self._kernel = kernel
        self.objects: set[ObjectId] = {("global", g.name) for g in globals_of(kernel) if g.space == ir.LOCAL}
        for param in kernel.params:
            if isinstance(param.type, ir.Pointer) and param.type.space == ir.LOCAL:
                self.objects.add(("param", param.index))

    @property
    def is_used(self) -> bool:
        return bool(self.objects)

    def is_local(self, value: ir.Value) -> bool:
        """Returns whether a value is a pointer to local memory."""
        return is_pointer(value) and self._provenance.object_id(value) in self.objects

    def obstacle(self) -> str | None:
        """Returns why local memory cannot be laid out for several groups, None if it can."""
        sizes: dict[ObjectId, int] = {}
        for block in self._kernel.blocks:
            for instr in block.instrs:
                found = self._obstacle_of(instr, sizes)
                if found is not None:
                    return found
        return None

    def _obstacle_of(self, instr: ir.Instr, sizes: dict[ObjectId, int]) -> str | None:
        if any(isinstance(v, ir.Const) and isinstance(v.value, tuple) and _names_local(v) for v in instr.operands):
            return "addresses of local memory in a constant"
        pointers = [v for v in instr.operands if is_pointer(v)]
        if any(self._provenance.object_id(v) is None and not isinstance(v, ir.Const) for v in pointers):
            return "a pointer whose object is not known when compiling"
        local = [v for v in pointers if self.is_local(v)]
        if instr.op in DERIVING:
            mixed = instr.op in ("phi", "select") and local and len(local) < len(pointers)
            if mixed:
                return "a pointer to local or other memory"
            return "parts of structs or vectors in local memory" if local and instr.op == "gep" and not _is_plain(instr) else None
        if not local:
            return None
        type = instr.type if instr.op == "load" else instr.operands[0].type if instr.op == "store" else None
        if type is None or len(local) > 1 or is_pointer(instr.operands[0]) is (instr.op == "store"):
            return f"{instr.callee.name if instr.callee else instr.op} on local memory"
        if not isinstance(llvm_types.elem_of(type), (ir.Int, ir.Float)):
            return f"elements of type {type} in local memory"
        object_id, size = self._provenance.object_id(local[0]), llvm_types.size_of(type)
        assert object_id is not None
        if sizes.setdefault(object_id, size) != size:
            return "accesses of several sizes to local memory"
        return None if self._provenance.align(local[0]) % size == 0 else "an access at no multiple of its size in local memory"


def _is_plain(gep: ir.Instr) -> bool:
    """Returns whether a gep steps over elements and arrays alone, not into a struct or vector."""
    type = gep.elem
    for _ in gep.operands[2:]:
        if not isinstance(type, ir.Array):
            return False
        type = type.elem
    while isinstance(type, ir.Array):
        type = type.elem
    return not isinstance(type, ir.Struct)


def _names_local(value: ir.Const) -> bool:
    if isinstance(value.value, tuple):
        return any(map(_names_local, value.value))
    return isinstance(value.value, ir.GlobalOffset) and value.value.target.space == ir.LOCAL


class LocalRows:
    """The same memory in the coarse kernel, whose groups are `lanes` of the launch's."""

    def __init__(self, memory: LocalMemory, lanes: int):
        self._memory, self._lanes = memory, lanes
        self._globals: dict[str, ir.Global] = {}

    def operand(self, value: ir.Value) -> ir.Value:
        """Returns what stands for a value that no instruction computes."""
        if isinstance(value, ir.Global) and value.space == ir.LOCAL:
            return self._variable(value)
        if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset) and value.value.target.space == ir.LOCAL:
            there = ir.GlobalOffset(self._variable(value.value.target), value.value.offset * self._lanes)
            return replace(value, value=there)
        return value

    def _variable(self, variable: ir.Global) -> ir.Global:
        if variable.name not in self._globals:
            self._globals[variable.name] = replace(variable, type=self._row_of(variable.type))
        return self._globals[variable.name]

    def _row_of(self, type: ir.Type) -> ir.Type:
        if isinstance(type, ir.Array):
            return ir.Array(self._row_of(type.elem), type.count)
        return ir.Array(type, self._lanes)

    def elem(self, instr: ir.Instr) -> ir.Type | None:
        """Returns the element type of a gep in the coarse kernel."""
        is_local = instr.op == "gep" and self._memory.is_local(instr.operands[0])
        return self._row_of(instr.elem) if is_local and instr.elem is not None else instr.elem

    def own_address(self, instr: ir.Instr, place: Callable[[], ir.Value]) -> ir.Instr | None:
        """Returns an instruction that computes the address of the group's own element for an access to local memory, None for
        other instructions. place: gives the group's place among those of the coarse group."""
        if instr.op not in ("load", "store") or not self._memory.is_local(instr.operands[-1]):
            return None
        pointer = instr.operands[-1]
        type = instr.type if is_plain_load(instr) else instr.operands[0].type
        return ir.Instr("gep", ir.type_of(pointer), [pointer, place()], instr.loc, elem=type)
