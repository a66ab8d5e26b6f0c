"""Loads of lanes that walk along rows of their own (`strided_loads.py`): the columns that share a line of memory are loaded at
once, when the first of them is needed. One by one, each column would take a line of memory for each lane, and use one element of
it; rows a power of two apart would drive each other's lines out of the cache."""

from __future__ import annotations

from ....ir import ir, llvm_types
from ...analysis.loop_bounds import Counter
from ...emit.builtin_registry import intrinsic_suffix
from ...emit.pointers import LanePtr
from ...llvm import objects
from ...llvm import vector_text as vt
from ...llvm.text import Text
from ..emitter import VectorEmitter
from ..lane_shapes import LaneShapes
from ..privates import Privates
from .memory import emit_addresses
from .patterns import Pattern, pattern_of
from .rows import emit_masked_load
from .strided_loads import StridedLoads
from .transpose import transpose

_LINE = 64
"""Bytes of a line of the processor's cache."""


def find_strided_load(strided_loads: StridedLoads, shapes: LaneShapes, privates: Privates, load: ir.Instr) -> Counter | None:
    """Returns the counter of the loop in which a load walks, if its lanes are apart and one instruction loads a part of a row."""
    small = llvm_types.size_of(llvm_types.elem_of(load.type)) < 4
    fits = llvm_types.lanes_of(load.type) <= shapes.tile.lanes and (not small or objects.machine().processor.masks_bytes)
    return strided_loads.counter_of(load) if fits and pattern_of(shapes, privates, load) == Pattern.APART else None


def emit_strided_row_load(e: VectorEmitter, where: LanePtr, load: ir.Instr, align: int) -> list[str] | None:
    """Emits a load, of one or more elements per lane, in a loop in which it walks. Returns one vector per element; None, with
    nothing emitted, if it does not walk or there is no room for its columns."""
    counter = find_strided_load(e.columns.loads, e.shapes, e.privates, load)
    t, elem, count = e.body, llvm_types.elem_of(load.type), llvm_types.lanes_of(load.type)
    columns = max(e.count, _LINE // llvm_types.size_of(elem))
    columns_bytes = columns * e.count * llvm_types.size_of(elem)
    if counter is None or not e.columns.reserve(columns_bytes):
        return None
    spelled, rounds = e.lanes.spelled(elem), columns // count
    room = e.prologue.op(f"alloca [{columns} x {spelled}], align {_LINE}")
    at = t.op(f"and i64 {_emit_rounds(e, counter.start, counter.phi, counter)}, {rounds - 1}")
    fill, ready = t.fresh("rows"), t.fresh("columns")
    t.branch(t.op(f"icmp eq i64 {at}, 0"), fill, ready)
    t.block(fill)
    least = e.unit.declare("llvm.umin.i64", "i64", "i64, i64")
    left = t.op(f"call {least}(i64 {_emit_rounds_left(e, counter)}, i64 {rounds})")
    known = t.op(f"mul i64 {left}, {count}")
    loop = e.columns.loads.small_loop_of(load)
    if loop is not None:
        e.columns.note_rounds(loop, rounds)
    name = f"@transpose_rows.{intrinsic_suffix(e.lanes.wide(elem))}.{align}{'' if loop is None else '.inline'}"
    e.unit.define_once(name, lambda: _transpose_function(e, name, elem, columns, align, inline=loop is not None))
    _emit_fill(e, name, where, elem, columns, known, room)
    t.jump(ready)
    t.block(ready)
    first = t.op(f"mul i64 {at}, {count}")
    parts = []
    for part in range(count):
        address = t.op(f"getelementptr {spelled}, ptr {room}, i64 {t.op(f'add i64 {first}, {part}')}")
        parts.append(t.op(f"load {spelled}, ptr {address}, align {min(_LINE, llvm_types.size_of(elem) * e.count)}"))
    return parts


def _emit_wide(e: VectorEmitter, value: ir.Value, counter: Counter) -> str:
    """Returns what a counter begins at, is, or ends at, extended as its comparison takes it."""
    assert isinstance(value.type, ir.Int)
    if value.type.bits == 64:
        return e.value(value)
    return e.body.op(f"{'sext' if counter.stays[0] == 's' else 'zext'} i{value.type.bits} {e.value(value)} to i64")


def _emit_rounds(e: VectorEmitter, start: ir.Value, end: ir.Value, counter: Counter) -> str:
    """Returns how many steps of the counter lead from `start` to `end`."""
    low, high = (start, end) if counter.step > 0 else (end, start)
    way = e.body.op(f"sub i64 {_emit_wide(e, high, counter)}, {_emit_wide(e, low, counter)}")
    return way if abs(counter.step) == 1 else e.body.op(f"udiv i64 {way}, {abs(counter.step)}")


def _emit_rounds_left(e: VectorEmitter, counter: Counter) -> str:
    """Returns how many iterations there are from this one on, at least one: the loop's test has let this one begin."""
    low, high = (counter.phi, counter.bound) if counter.step > 0 else (counter.bound, counter.phi)
    t, step = e.body, abs(counter.step)
    way = t.op(f"sub i64 {_emit_wide(e, high, counter)}, {_emit_wide(e, low, counter)}")
    whole = way if counter.stays.endswith("e") else t.op(f"sub i64 {way}, 1")  # the last step that the test still lets in
    steps = whole if step == 1 else t.op(f"udiv i64 {whole}, {step}")
    return t.op(f"add i64 {steps}, 1")


def _emit_fill(e: VectorEmitter, transpose_rows: str, where: LanePtr, elem: ir.Type, columns: int, known: str, room: str) -> None:
    """Emits the load of `known` elements of each lane's row, at most `columns`, and the store of its columns to `room`, by the
    function `transpose_rows`. The row of a lane without work is one of zeros."""
    t, pointers = e.body, f"<{e.count} x ptr>"
    rows = emit_addresses(e, where)
    if e.active.mask is not None:
        row = f"[{columns} x {llvm_types.spell(elem)}]"
        zeros = e.prologue.op(f"alloca {row}, align {_LINE}")
        e.prologue.do(f"store {row} zeroinitializer, ptr {zeros}")
        aside = vt.splat_pointer(t, zeros, e.count)
        rows = t.op(f"select <{e.count} x i1> {e.active.mask}, {pointers} {rows}, {pointers} {aside}")
    t.do(f"call void {transpose_rows}({pointers} {rows}, i64 {known}, ptr {room})")


def _transpose_function(e: VectorEmitter, name: str, elem: ir.Type, columns: int, align: int, *, inline: bool) -> str:
    """Returns a function that loads elements of each row, and stores the columns: as many at once as there are lanes."""
    t, row, count = Text(), e.lanes.wide(elem), e.count
    spelled, size = llvm_types.spell(row), llvm_types.size_of(elem)
    few = vt.splat(t, ir.Int(32), t.op("trunc i64 %known to i32"), count)
    addresses = [t.op(f"extractelement <{count} x ptr> %rows, i32 {lane}") for lane in range(count)]
    for first in range(0, columns, count):
        if first:
            more = t.fresh("more")
            t.branch(t.op(f"icmp ugt i64 %known, {first}"), more, "done")
            t.block(more)
        present = t.op(f"icmp ult <{count} x i32> {vt.numbers(ir.Int(32), range(first, first + count))}, {few}")
        rows = []
        for start in addresses:
            address = t.op(f"getelementptr i8, ptr {start}, i64 {first * size}")
            rows.append(emit_masked_load(e.unit, t, address, elem, count, present, align))
        for at, column in enumerate(transpose(t, row, rows), first):
            there = t.op(f"getelementptr i8, ptr %room, i64 {at * size * count}")
            t.do(f"store {spelled} {column}, ptr {there}, align {min(_LINE, size * count)}")
    t.jump("done")
    t.block("done")
    head = f"define internal void {name}(<{count} x ptr> %rows, i64 %known, ptr %room) #{4 if inline else 2} {{"
    return "\n".join([head, "entry:", *t.lines, "  ret void", "}"])
