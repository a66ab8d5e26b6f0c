"""Calls of built-ins: the dispatch, and functions that the library supplies as kernel IR. These are emitted once per module
and called as they are or lane by lane."""

from __future__ import annotations

from dataclasses import replace

from ...findings import Kind
from ...frontend import builtin_library
from ...ir import ir, llvm_types
from ...ir.cfg import reverse_postorder
from ...ir.provenance import ALIGNED, Object, ObjectId, Provenance, Ptr, is_pointer
from ...ir.unsupported import unsupported
from ..abi.element_bytes import element_bytes
from ..analysis.segments import Graph, ScopeOf, Segment
from ..emit import access
from ..emit.builtin_registry import find_emitter
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter, instruction
from ..emit.segment_flow import SegmentFlow
from ..emit.unit import Unit


class LibraryEmitter(Emitter):
    """Emits a library function. It is trusted: its accesses are not checked, its loops not polled, and it always fuses a*b+c."""

    def __init__(self, unit: Unit, function: ir.Function):
        super().__init__(unit, function, Provenance(function))
        self.contracts = True

    def object_of(self, object_id: ObjectId) -> Object:
        kind, which = object_id
        whole = (1 << 63) - 1
        if kind == "param":
            return Object(object_id, "argument", "private", f"%p{which}", whole)
        if kind == "alloca":
            instr = next(i for b in self.function.blocks for i in b.instrs if id(i) == which)
            assert instr.elem is not None
            base = self.prologue.op(f"alloca [{llvm_types.size_of(instr.elem)} x i8], align {ALIGNED}")
            return Object(object_id, "variable", "private", base, whole)
        raise unsupported("program-scope data in a library function", self.loc)

    def report_if(self, condition: str, site: DiagnosticSite, *values: str | int) -> None:
        """Reports nothing: the results of library functions are defined for every argument."""

    def leave(self, value: str | None) -> None:
        result = self.function.result
        if isinstance(result, ir.Void):
            self.body.do("ret void")
        else:  # without a value: the end of unreachable code
            self.body.do(f"ret {llvm_types.spell(result)} {llvm_types.zero(result) if value is None else value}")

    def leave_at_sync(self, segment: Segment) -> None:
        raise unsupported("a barrier in a library function", self.loc)

    def emit(self) -> str:
        for param in self.function.params:
            self.values[id(param)] = f"%p{param.index}"
        order = reverse_postorder(Graph(self.function, ScopeOf()).entry)
        SegmentFlow(self).emit(order, set())
        params = ", ".join(f"{llvm_types.spell(p.type)} %p{p.index}" for p in self.function.params)
        head = f"define internal {llvm_types.spell(self.function.result)} @{self.function.name}({params}) #0 {{"
        start = [head, "entry:", *self.prologue.lines, f"  br label %{order[0].label}"]
        return "\n".join([*start, *self.body.lines, *self.body.cold, "}"])


@instruction("call")
def _call(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    emit = find_emitter(instr.callee.name)
    if emit is not None:
        emit(e, instr)
    elif instr.callee.name.startswith("llvm."):
        raise unsupported(f"intrinsic {instr.callee.name}", instr.loc)
    else:
        emit_library_call(e, instr)


def emit_library_call(e: Emitter, instr: ir.Instr) -> None:
    """Emits a call of a library function. Raises UnsupportedError if there is none."""
    assert instr.callee is not None
    name = builtin_library.scalar_of(instr.callee)
    if name is None:
        raise unsupported(f"{instr.callee.name}({', '.join(instr.callee.args)})", instr.loc)
    function = builtin_library.functions([name])[name]
    e.unit.define_once(function.name, lambda: LibraryEmitter(e.unit, function).emit())
    operands = [_argument(e, v, spelled) for v, spelled in zip(instr.operands, instr.callee.args, strict=True)]
    lanes = llvm_types.lanes_of(instr.type)
    if name == instr.callee.mangled or lanes == 1:
        result = _emit_call(e, function, operands)
    else:
        result = llvm_types.zero(instr.type)
        elem = llvm_types.spell(llvm_types.elem_of(instr.type))
        for lane in range(lanes):
            item = _emit_call(e, function, [_lane(e, o, v.type, lane) for o, v in zip(operands, instr.operands, strict=True)])
            result = e.body.op(f"insertelement {llvm_types.spell(instr.type)} {result}, {elem} {item}, i32 {lane}")
    if result:
        e.define(instr, result)


_LETTER = {16: ("Dh", "half"), 32: ("f", "float"), 64: ("d", "double")}


@instruction("frem")
def _frem(e: Emitter, instr: ir.Instr) -> None:
    """Emits the remainder of floats as the library's fmod."""
    elem, lanes = llvm_types.elem_of(instr.type), llvm_types.lanes_of(instr.type)
    assert isinstance(elem, ir.Float)
    letter, name = _LETTER[elem.bits]
    vector = f"Dv{lanes}_{letter}" if lanes > 1 else letter
    second = "S_" if lanes > 1 else letter
    spelled = name if lanes == 1 else f"{name}{lanes}"
    callee = ir.Callee("fmod", f"_Z4fmod{vector}{second}", (spelled, spelled))
    call = ir.Instr("call", instr.type, instr.operands, instr.loc, callee=callee)
    emit_library_call(e, call)
    e.define(instr, e.value(call))


def _emit_call(e: Emitter, function: ir.Function, operands: list[str]) -> str:
    result = llvm_types.spell(function.result)
    values = ", ".join(f"{llvm_types.spell(p.type)} {o}" for p, o in zip(function.params, operands, strict=True))
    text = f"call {result} @{function.name}({values})"
    if result == "void":
        e.body.do(text)
        return ""
    return e.body.op(text)


def _lane(e: Emitter, operand: str, type: ir.Type, lane: int) -> str:
    return e.body.op(f"extractelement {llvm_types.spell(type)} {operand}, i32 {lane}") if isinstance(type, ir.Vector) else operand


def _argument(e: Emitter, value: ir.Value, spelled: str) -> str:
    """Returns an operand. A pointer to a second result is checked here, and replaced by scratch memory if it is bad."""
    if not is_pointer(value):
        return e.value(value)
    return emit_checked_target(e, e.pointer(value), element_bytes(spelled))


def emit_checked_target(e: Emitter, pointer: Ptr, size: int) -> str:
    """Returns an address to which `size` bytes can be written."""
    bad = access.emit_out_of_bounds(e, pointer, size)
    address = e.address(replace(pointer))
    if bad is None:
        e.hooks.on_memset(pointer, size)
        return address
    scratch = e.prologue.op(f"alloca [{max(size, 1)} x i8], align {ALIGNED}")
    e.report_if(bad, access.access_site(e, pointer, Kind.OUT_OF_BOUNDS_WRITE, size), *access.site_values(e, pointer))
    good, on = e.body.fresh("good"), e.body.fresh("on")
    e.body.branch(bad, on, good, unlikely=True)
    e.body.block(good)
    e.hooks.on_memset(pointer, size)
    e.body.jump(on)
    e.body.block(on)
    return e.body.op(f"select i1 {bad}, ptr {scratch}, ptr {address}")
