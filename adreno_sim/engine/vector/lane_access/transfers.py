"""Loads, stores and fills of kernel IR for all lanes: checks, instrumentation, then the access in the layout of the memory."""

from __future__ import annotations

from dataclasses import replace

from ....ir import ir, llvm_types
from ....ir.provenance import Ptr
from ....ir.queries import private_bytes
from ...emit import access
from ...emit.pointers import LanePtr
from ...llvm import vector_text as vt
from ..emitter import VectorEmitter
from .memory import (
    emit_addresses,
    emit_checks,
    emit_gather,
    emit_if_inside,
    emit_load_elements,
    emit_scatter,
    emit_store_elements,
)
from .strided_row_loads import emit_strided_row_load


def emit_load(e: VectorEmitter, instr: ir.Instr, pointer: ir.Value, where: LanePtr, align: int) -> None:
    """Emits a load from addresses that differ between lanes."""
    type = instr.type
    variable = e.privates.variable(pointer)
    boolean = type == ir.Int(1)
    elem = ir.Int(8) if boolean else llvm_types.elem_of(type)
    count = llvm_types.lanes_of(type)
    if _is_shared_offset(e, where, variable):
        parts = emit_if_inside(
            e,
            where,
            llvm_types.store_size(type),
            [e.lanes.spelled(elem)] * count,
            lambda: _emit_load(e, where, variable, elem, count),
        )
    else:
        mask, known = _emit_checks(e, where, variable, type, align)
        e.hooks.on_vector_load(where, variable, elem, count, mask)
        safe = variable is None and mask is e.active.mask  # no lane with work was found outside of its object
        walked = emit_strided_row_load(e, where, instr, known) if safe else None
        parts = emit_load_at(e, where, variable, elem, count, mask, known) if walked is None else walked
    if boolean:
        parts = [e.body.op(f"trunc {e.lanes.spelled(elem)} {p} to <{e.count} x i1>") for p in parts]
    e.lanes.define(instr, parts)


def _emit_load(e: VectorEmitter, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int) -> list[str]:
    e.hooks.on_vector_load(where, variable, elem, count, e.active.mask)
    return emit_load_at(e, where, variable, elem, count, e.active.mask, 1)


def emit_store(e: VectorEmitter, type: ir.Type, parts: list[str], pointer: ir.Value, where: LanePtr, align: int) -> None:
    """Emits a store to addresses that differ between lanes."""
    elem = llvm_types.elem_of(type)
    if type == ir.Int(1):
        parts, elem, type = [e.body.op(f"zext <{e.count} x i1> {p} to <{e.count} x i8>") for p in parts], ir.Int(8), ir.Int(8)
    variable = e.privates.variable(pointer)
    if _is_shared_offset(e, where, variable):
        emit_if_inside(
            e, where, llvm_types.store_size(type), [], lambda: _emit_store(e, where, variable, elem, parts, e.active.mask, 1)
        )
        return
    mask, known = _emit_checks(e, where, variable, type, align)
    _emit_store(e, where, variable, elem, parts, mask, known)


def _emit_store(
    e: VectorEmitter, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, parts: list[str], mask: str | None, align: int
) -> list[str]:
    e.hooks.on_vector_store(where, variable, elem, len(parts), mask)
    emit_store_at(e, where, variable, elem, parts, mask, align)
    return []


def _is_shared_offset(e: VectorEmitter, where: LanePtr, variable: ir.Instr | None) -> bool:
    """Returns whether all lanes access one offset of a private variable whose lanes lie side by side."""
    return variable is not None and where.uniform and e.privates.granule(variable) is not None


def _emit_checks(
    e: VectorEmitter, where: LanePtr, variable: ir.Instr | None, type: ir.Type, align: int
) -> tuple[str | None, int]:
    """Emits the checks of an access of `type`. Returns the mask of lanes that may access, and the known alignment."""
    if variable is not None and e.privates.granule(variable) is not None:
        return emit_checks(e, where, llvm_types.store_size(type), 1)
    mask, known = emit_checks(e, where, llvm_types.store_size(type), align)
    return mask, min(known, llvm_types.size_of(llvm_types.elem_of(type)))


def emit_load_at(
    e: VectorEmitter, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None, align: int
) -> list[str]:
    """Emits a load of `count` consecutive elements per lane, from `variable` or from memory that is not private."""
    if variable is not None and e.privates.granule(variable) is not None:
        return _emit_interleaved_load(e, where, elem, count, mask)
    return emit_load_elements(e, lane_addresses(e, where, variable), elem, count, mask, align)


def emit_store_at(
    e: VectorEmitter, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, parts: list[str], mask: str | None, align: int
) -> None:
    """Emits a store of consecutive elements per lane, to `variable` or to memory that is not private."""
    if variable is not None and e.privates.granule(variable) is not None:
        _emit_interleaved_store(e, where, elem, parts, mask)
        return
    emit_store_elements(e, lane_addresses(e, where, variable), elem, parts, mask, align)


def emit_fill(e: VectorEmitter, instr: ir.Instr, variable: ir.Instr) -> None:
    """Emits memset or memcpy of a whole private variable, in either layout."""
    granule = e.privates.granule(variable) or 1
    word = ir.Int(8 * granule)
    source, size = instr.operands[1], llvm_types.align_up(private_bytes(variable), granule)
    target, t = e.lanes.pointer(variable), e.body
    if instr.op == "memset" and e.active.mask is None:
        e.hooks.on_vector_fill(variable)
        e.private_room.fill(t, variable, target.pointer.base, e.value(source))
        return
    origin, mask = None, None
    if instr.op != "memset" and not e.lanes.uniform(source):
        origin = e.lanes.pointer(source)
        mask, _ = emit_checks(e, origin, private_bytes(variable), 1)
    for at in range(0, size, granule):
        if origin is not None:
            far = replace(origin, pointer=access.offset_pointer(e, origin.pointer, 1, at))
            e.hooks.on_vector_load(far, None, word, 1, mask)
            part = emit_load_elements(e, far, word, 1, mask, 1)[0]
        elif instr.op == "memset":
            assert isinstance(source, ir.Const)
            byte = source.value if isinstance(source.value, int) else 0
            part = vt.splat(t, word, str(int.from_bytes(bytes([byte & 255]) * granule, "little")), e.count)
        else:
            part = vt.splat(t, word, access.emit_load(e, access.offset_pointer(e, e.pointer(source), 1, at), word, 1), e.count)
        there = replace(target, pointer=access.offset_pointer(e, target.pointer, 1, at))
        e.hooks.on_vector_store(there, variable, word, 1, e.active.mask)
        emit_store_at(e, there, variable, word, [part], e.active.mask, 1)


def emit_copy(e: VectorEmitter, variable: ir.Instr, source: ir.Instr) -> None:
    """Emits the copy of a whole private variable to another of the same interleaved layout."""
    granule = e.privates.granule(variable)
    assert granule is not None
    assert granule == e.privates.granule(source)
    word, target, origin = ir.Int(8 * granule), e.lanes.pointer(variable), e.lanes.pointer(source)
    for at in range(0, llvm_types.align_up(private_bytes(variable), granule), granule):
        far, there = (replace(p, pointer=access.offset_pointer(e, p.pointer, 1, at)) for p in (origin, target))
        e.hooks.on_vector_copy(there, variable, far, source, word, e.active.mask)
        part = _emit_interleaved_load(e, far, word, 1, e.active.mask)
        _emit_interleaved_store(e, there, word, part, e.active.mask)


def lane_addresses(e: VectorEmitter, where: LanePtr, variable: ir.Instr | None) -> LanePtr:
    """Returns the addresses of the lanes in a variable laid out lane by lane. Other memory is returned unchanged."""
    if variable is None:
        return where
    slot = e.privates.slot_bytes(variable)
    return replace(where, lane_offsets=tuple(p + lane * slot for lane, p in enumerate(where.lane_offsets)))


# Private variables whose lanes lie side by side


def _interleaved_address(e: VectorEmitter, where: LanePtr, size: int) -> LanePtr:
    """Returns the addresses of each lane's elements in an interleaved variable: an offset of `size` counts for every lane."""
    pointer, lanes = where.pointer, tuple(lane * size for lane in range(e.count))
    offset = pointer.offset
    far: str | int = offset * e.count if isinstance(offset, int) else e.body.op(f"mul i64 {offset}, {e.count}")
    start = Ptr(pointer.base, pointer.length, far, size, pointer.object)
    spread = tuple(p * e.count + own for p, own in zip(where.lane_offsets, lanes, strict=True))
    return LanePtr(start, spread, where.index, where.bits, where.stride * e.count)


def _emit_interleaved_load(e: VectorEmitter, where: LanePtr, elem: ir.Type, count: int, mask: str | None) -> list[str]:
    one, t = llvm_types.size_of(elem), e.body
    there = _interleaved_address(e, where, one)
    if not where.uniform:
        steps = (replace(there, pointer=access.offset_pointer(e, there.pointer, 1, at * one * e.count)) for at in range(count))
        return [emit_gather(e, emit_addresses(e, at), elem, mask, one) for at in steps]
    assert mask is e.active.mask
    addresses = (e.address(access.offset_pointer(e, there.pointer, 1, at * one * e.count)) for at in range(count))
    return [t.op(f"load {e.lanes.spelled(elem)}, ptr {address}, align {one}") for address in addresses]


def _emit_interleaved_store(e: VectorEmitter, where: LanePtr, elem: ir.Type, parts: list[str], mask: str | None) -> None:
    one, t = llvm_types.size_of(elem), e.body
    there = _interleaved_address(e, where, one)
    spelled = e.lanes.spelled(elem)
    assert mask is e.active.mask or not where.uniform
    for at, part in enumerate(parts):
        moved = replace(there, pointer=access.offset_pointer(e, there.pointer, 1, at * one * e.count))
        if not where.uniform:
            emit_scatter(e, emit_addresses(e, moved), elem, part, mask, one)
            continue
        address = e.address(moved.pointer)
        if mask is not None:  # blended, so that LLVM may keep the variable in registers
            old = t.op(f"load {spelled}, ptr {address}, align {one}")
            part = t.op(f"select <{e.count} x i1> {mask}, {spelled} {part}, {spelled} {old}")
        t.do(f"store {spelled} {part}, ptr {address}, align {one}")
