"""vload and vstore, with halves and rounding; shuffle; asynchronous copies and prefetch."""

from __future__ import annotations

import re
from dataclasses import replace

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ..abi.element_bytes import element_bytes
from ..emit import access
from ..emit.access import emit_block_operation
from ..emit.builtin_registry import builtin, builtin_family
from ..emit.emitter import Emitter
from ..llvm.text import emit_mul_i64
from .conversions import resize_float

_HALF, _FLOAT = ir.Float(16), ir.Float(32)


def element_pointer(e: Emitter, pointer: ir.Value, index: ir.Value, stride: int) -> Ptr:
    """Returns the pointer advanced by `index` (a size_t, wrapping) steps of `stride` bytes."""
    number = index.value if isinstance(index, ir.Const) and isinstance(index.value, int) else e.value(index)
    return access.offset_pointer(e, e.pointer(pointer), number, stride)


@builtin_family(r"vload(2|3|4|8|16)")
def _vload(e: Emitter, instr: ir.Instr) -> None:
    assert isinstance(instr.type, ir.Vector)
    index, pointer = instr.operands
    size = llvm_types.size_of(instr.type.elem)
    source = element_pointer(e, pointer, index, size * instr.type.count)
    e.define(instr, access.emit_load(e, source, instr.type, size, instr=instr))


@builtin_family(r"vstore(2|3|4|8|16)")
def _vstore(e: Emitter, instr: ir.Instr) -> None:
    data, index, pointer = instr.operands
    assert isinstance(data.type, ir.Vector)
    size = llvm_types.size_of(data.type.elem)
    target = element_pointer(e, pointer, index, size * data.type.count)
    access.emit_store(e, target, data.type, e.value(data), size, value=data)


_HALF_ACCESS = re.compile(r"v(?:load|store)(a?)_half(\d*)(_rt[ezpn])?")


def _half_access(e: Emitter, name: str, index: ir.Value, pointer: ir.Value, lanes: int) -> tuple[Ptr, int, str]:
    """Returns pointer, claimed alignment and rounding suffix of a vload_half or vstore_half. vloada_half3 has a stride of 4."""
    match = _HALF_ACCESS.fullmatch(name)
    assert match is not None
    aligned = bool(match[1])
    step = 2 * (4 if aligned and lanes == 3 else lanes)
    return element_pointer(e, pointer, index, step), (step if aligned else 2), match[3] or ""


@builtin_family(r"vloada?_half(2|3|4|8|16)?")
def _vload_half(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    index, pointer = instr.operands
    source, align, _ = _half_access(e, instr.callee.name, index, pointer, llvm_types.lanes_of(instr.type))
    halves = llvm_types.with_elem(instr.type, _HALF)
    e.define(instr, resize_float(e, halves, instr.type, access.emit_load(e, source, halves, align, instr=instr), ""))


@builtin_family(r"vstorea?_half(2|3|4|8|16)?(_rt[ezpn])?")
def _vstore_half(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    data, index, pointer = instr.operands
    target, align, mode = _half_access(e, instr.callee.name, index, pointer, llvm_types.lanes_of(data.type))
    halves = llvm_types.with_elem(data.type, _HALF)
    access.emit_store(e, target, halves, resize_float(e, data.type, halves, e.value(data), mode), align, value=data)


@builtin("shuffle", "shuffle2")
def _shuffle(e: Emitter, instr: ir.Instr) -> None:
    """Selects lanes by the low bits of a mask vector."""
    *sources, mask = instr.operands
    t = e.body
    lanes = llvm_types.lanes_of(sources[0].type)
    total = lanes * len(sources)
    vector, operand = sources[0].type, e.value(sources[0])
    assert isinstance(vector, ir.Vector)
    if len(sources) == 2:
        order = ", ".join(f"i32 {i}" for i in range(total))
        both = f"{llvm_types.spell(vector)} {operand}, {e.typed_operand(sources[1])}"
        operand = t.op(f"shufflevector {both}, <{total} x i32> <{order}>")
    wide = llvm_types.spell(ir.Vector(vector.elem, total))
    result, elem = llvm_types.zero(instr.type), llvm_types.spell(vector.elem)
    index_type = llvm_types.spell(llvm_types.elem_of(mask.type))
    for lane in range(llvm_types.lanes_of(instr.type)):
        raw = t.op(f"extractelement {e.typed_operand(mask)}, i32 {lane}")
        index = t.op(f"and {index_type} {raw}, {total - 1}")
        item = t.op(f"extractelement {wide} {operand}, {index_type} {index}")
        result = t.op(f"insertelement {llvm_types.spell(instr.type)} {result}, {elem} {item}, i32 {lane}")
    e.define(instr, result)


@builtin("async_work_group_copy", "async_work_group_strided_copy")
def _async_copy(e: Emitter, instr: ir.Instr) -> None:
    """The group's first work-item copies at once. The others synchronise with it at wait_group_events."""
    assert instr.callee is not None
    target, source, count = instr.operands[:3]
    size = element_bytes(instr.callee.args[1])
    t = e.body
    first, after = t.fresh("first"), t.fresh("copied")
    own = e.report_ids(t)[1]
    t.branch(t.op(f"icmp eq i64 {own}, 0"), first, after)
    t.block(first)
    number = e.value(count)
    if instr.callee.name == "async_work_group_copy":
        _copy_block(e, e.pointer(target), e.pointer(source), number, size)
    else:
        _copy_strided(e, instr, number, size)
    t.jump(after)
    t.block(after)
    e.define(instr, e.value(instr.operands[-1]))


def _copy_block(e: Emitter, target: Ptr, source: Ptr, count: str, size: int) -> None:
    nbytes = emit_mul_i64(e.body, count, size)
    move = e.unit.declare("llvm.memmove.p0.p0.i64", "void", "ptr, ptr, i64, i1")
    to, origin = e.address(target), e.address(source)
    checks = [(target, Kind.OUT_OF_BOUNDS_WRITE), (source, Kind.OUT_OF_BOUNDS_READ)]
    emit_block_operation(e, checks, nbytes, 0, f"call {move}(ptr {to}, ptr {origin}, i64 {nbytes}, i1 false)", to)


def _copy_strided(e: Emitter, instr: ir.Instr, count: str, size: int) -> None:
    """Copies element by element: global memory is strided, local memory dense."""
    target, source, _, stride = instr.operands[:4]
    t = e.body
    from_global = isinstance(source.type, ir.Pointer) and source.type.space != ir.LOCAL
    before, head, body, done = t.label, t.fresh("copy"), t.fresh("one"), t.fresh("done")
    t.jump(head)
    t.block(head)
    phi = t.open_phi("i64")
    index = phi.name
    t.branch(t.op(f"icmp ult i64 {index}, {count}"), body, done)
    t.block(body)
    far = t.op(f"mul i64 {index}, {e.value(stride)}")
    steps = {id(source): far if from_global else index, id(target): index if from_global else far}
    to, origin = (
        replace(access.offset_pointer(e, p, steps[id(v)], size), align=1)
        for v, p in ((target, e.pointer(target)), (source, e.pointer(source)))
    )
    bits = ir.Int(8 * size)
    access.emit_store(e, to, bits, access.emit_load(e, origin, bits, 1), 1)
    following = t.op(f"add i64 {index}, 1")
    phi.add((0, before), (following, t.label))
    t.jump(head)
    t.block(done)


@builtin("prefetch")
def _prefetch(e: Emitter, instr: ir.Instr) -> None:
    """A hint without effect."""
