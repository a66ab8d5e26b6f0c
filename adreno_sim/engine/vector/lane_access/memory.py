"""Address arithmetic, loads and stores of all lanes: one vector access if the lanes are adjacent, else gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ....ir import ir, llvm_types
from ....ir.provenance import Ptr, stride_of
from ...emit import access, inner_bounds
from ...emit.builtin_registry import intrinsic_suffix
from ...emit.inner_bounds import IndexStep
from ...emit.pointers import LanePtr
from ...llvm import vector_text as vt
from ...llvm.text import Text
from ..emitter import VectorEmitter
from ..lane_shape import row_order, row_step, shared_width, stored_step
from . import runs, words
from .rows import LaneRows, emit_masked_load, emit_row_load, emit_row_store

_I64 = ir.Int(64)


def emit_gep(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a gep whose result differs between lanes, by lane offsets or in any way."""
    shape, type = e.shapes.of(instr), instr.elem
    found = e.lanes.pointer(instr.operands[0])
    assert type is not None
    steps: list[tuple[IndexStep, ir.Value]] = []
    parent = None
    for number, index in enumerate(instr.operands[1:]):
        if number and isinstance(type, ir.Struct):
            assert isinstance(index, ir.Const)
            assert isinstance(index.value, int)
            found = replace(found, pointer=access.offset_pointer(e, found.pointer, 1, llvm_types.field_offset(type, index.value)))
            parent, type = type, type.fields[index.value]
            continue
        array = type
        stride, type = stride_of(number, type)
        if shape.lane_offsets is not None or e.lanes.uniform(index):
            found = replace(found, pointer=access.offset_pointer(e, found.pointer, access.gep_index(e, index), stride))
        else:
            found = step_lanes(e, found, index, stride)
        if number:
            steps.append((IndexStep(number, array, parent, ""), index))
        parent = None
    found = replace(found, pointer=replace(found.pointer, align=e.provenance.align(instr)))
    if shape.lane_offsets is not None:
        found = replace(found, lane_offsets=shape.lane_offsets)
    _emit_index_checks(e, instr, steps, found)
    if shape.lane_offsets is not None:
        e.define_pointer(instr, found.pointer)
    else:
        e.lanes.define_pointer(instr, found)


def _emit_index_checks(e: VectorEmitter, instr: ir.Instr, steps: list[tuple[IndexStep, ir.Value]], where: LanePtr) -> None:
    """Emits what `inner_bounds.emit_index_checks` emits, for indices that differ between lanes."""
    nbytes = inner_bounds.accessed_bytes(e, instr) if e.unit.checked else None
    for step, index in steps if nbytes is not None else ():
        array = step.array
        if (
            not isinstance(array, ir.Array)
            or inner_bounds.is_whole_variable(instr, step.level)
            or inner_bounds.is_open_ended(instr, step)
        ):
            continue
        element = llvm_types.size_of(array.elem)
        needed = (nbytes if step.level == len(instr.operands) - 2 else 0) or element
        last = (array.count * element - needed) // element
        low, high = e.shapes.interval_of(index)
        if low >= 0 and high <= last:
            continue
        t, lanes = e.body, e.lanes.components(index)[0]
        assert isinstance(index.type, ir.Int)
        if index.type.bits < 64:
            lanes = t.op(f"sext {e.lanes.spelled(index.type)} {lanes} to <{e.count} x i64>")
        beyond = t.op(f"icmp ugt <{e.count} x i64> {lanes}, {vt.numbers(_I64, [last] * e.count)}") if last >= 0 else None
        length = vt.splat(t, _I64, str(where.pointer.length), e.count)
        inside = t.op(f"icmp ult <{e.count} x i64> {e.lanes.offsets(where)}, {length}")
        e.faults.raise_lanes(vt.emit_and_masks(t, beyond, inside, e.count) or inside)


def step_lanes(e: VectorEmitter, start: LanePtr, index: ir.Value, stride: int) -> LanePtr:
    """Returns `start` advanced by `index` steps of `stride` bytes."""
    if e.lanes.uniform(index):
        return replace(start, pointer=access.offset_pointer(e, start.pointer, access.gep_index(e, index), stride))
    t = e.body
    assert isinstance(index.type, ir.Int)
    vector, bits = _narrow_index(e, index)
    if start.index is None:
        step = 1 if stride in (1, 2, 4, 8) else stride & -stride
        while step > 8:
            step //= 2
        factor = stride // (stride if stride in (1, 2, 4, 8) else step)
        if factor > 1 and bits == 32 and _fits(e, index, factor):
            vector = t.op(f"mul <{e.count} x i32> {vector}, {vt.numbers(ir.Int(32), [factor] * e.count)}")
            return replace(start, index=vector, bits=32, stride=stride // factor)
        return replace(start, index=vector, bits=bits, stride=stride)
    here = e.lanes.offsets(LanePtr(Ptr("null", 0, 0), (0,) * e.count, vector, bits, stride))
    there = e.lanes.offsets(replace(start, pointer=Ptr("null", 0, 0), lane_offsets=(0,) * e.count))
    total = t.op(f"add <{e.count} x i64> {here}, {there}")
    return replace(start, index=total, bits=64, stride=1)


def _narrow_index(e: VectorEmitter, index: ir.Value) -> tuple[str, int]:
    """Returns the index vector, in the number of bits in which it was computed (at least 32), and that number."""
    if isinstance(index, ir.Instr) and index.op == "sext" and index.operands[0].type == ir.Int(32):
        return e.lanes.components(index.operands[0])[0], 32
    assert isinstance(index.type, ir.Int)
    vector = e.lanes.components(index)[0]
    if index.type.bits >= 32:
        return vector, index.type.bits
    return e.body.op(f"sext <{e.count} x i{index.type.bits}> {vector} to <{e.count} x i32>"), 32


def _fits(e: VectorEmitter, index: ir.Value, factor: int) -> bool:
    """Returns whether `index` times `factor` cannot wrap in 32 bits."""
    low, high = e.shapes.interval_of(index)
    return low * factor >= -(1 << 31) and high * factor < 1 << 31


def emit_checks(e: VectorEmitter, where: LanePtr, size: int, align: int) -> tuple[str | None, int]:
    """Emits bounds and alignment checks of `size` bytes. Failing lanes set the fault flag. Returns the mask of the other
    lanes, and the known alignment."""
    known = align if access.is_aligned(e, where.pointer, align) else 1
    if not e.unit.checked:
        return e.active.mask, known
    t = e.body
    if known != align:
        low = t.op(f"and <{e.count} x i64> {e.lanes.offsets(where)}, {vt.numbers(_I64, [align - 1] * e.count)}")
        e.faults.raise_lanes(t.op(f"icmp ne <{e.count} x i64> {low}, zeroinitializer"))
    if e.unit.proves_in_range(e.current):
        return e.active.mask, known
    if where.index is not None:
        bad = _emit_outside(e, where, size, t)
        e.faults.raise_lanes(bad)
        return vt.emit_and_masks(t, e.active.mask, vt.emit_not_mask(t, bad, e.count), e.count), known
    past = _emit_some_outside(e, where, size)
    if past is None:
        return e.active.mask, known
    failed, ok, before = t.fresh("oob"), t.fresh("ok"), t.label
    t.branch(past, failed, ok, unlikely=True)
    cold = t.aside()
    cold.block(failed)
    bad = _emit_outside(e, where, size, cold)
    e.faults.raise_lanes(bad, cold)
    rest = vt.emit_and_masks(cold, e.active.mask, vt.emit_not_mask(cold, bad, e.count), e.count)
    cold.jump(ok)
    t.put_aside(cold)
    t.block(ok)
    lanes = f"<{e.count} x i1>"
    return t.op(f"phi {lanes} [ {vt.text_of(e.active.mask)}, %{before} ], [ {rest}, %{failed} ]"), known


def emit_if_inside(
    e: VectorEmitter, where: LanePtr, size: int, types: list[str], access_all: Callable[[], list[str]]
) -> list[str]:
    """Emits what `access_all` emits, an access of `size` bytes at one offset for all lanes, behind the branch on whether the
    object has these bytes; else lanes with work set the fault flag. Returns results of LLVM `types`: zeros if it did not run.

    LLVM knows how long a private variable is: an address beyond it that is merely masked off, or only examined by a check, would
    let it conclude that the bounds check never fails.
    """
    past = None if not e.unit.checked or e.unit.proves_in_range(e.current) else _emit_some_outside(e, where, size)
    if past is None:
        return access_all()
    t = e.body
    failed, inside, done = t.fresh("oob"), t.fresh("inside"), t.fresh("done")
    t.branch(past, failed, inside, unlikely=True)
    cold = t.aside()
    cold.block(failed)
    e.faults.raise_if("true" if e.active.mask is None else vt.any_of(cold, e.active.mask, e.count), cold)
    cold.jump(done)
    t.put_aside(cold)
    t.block(inside)
    results = access_all()
    last = t.label
    t.jump(done)
    t.block(done)
    pairs = zip(types, results, strict=True)
    return [t.op(f"phi {type} [ zeroinitializer, %{failed} ], [ {result}, %{last} ]") for type, result in pairs]


def _start_limit(e: VectorEmitter, where: LanePtr, size: int) -> str:
    """Returns the number of start offsets at which `size` bytes fit."""
    pointer = where.pointer
    return str(max(0, pointer.length - size + 1)) if isinstance(pointer.length, int) else access.start_limit(e, pointer, size)


def _emit_outside(e: VectorEmitter, where: LanePtr, size: int, t: Text) -> str:
    """Returns the lanes whose access is not inside the object."""
    vector = f"<{e.count} x i64>"
    return t.op(f"icmp uge {vector} {e.lanes.offsets(where, t)}, {vt.splat(t, _I64, _start_limit(e, where, size), e.count)}")


def _emit_some_outside(e: VectorEmitter, where: LanePtr, size: int) -> str | None:
    """Returns an i1 that is true if some lane, active or not, is out of bounds; None if none can be."""
    pointer, t = where.pointer, e.body
    low, high = min(where.lane_offsets), max(where.lane_offsets)
    span = high - low
    if isinstance(pointer.length, int):
        room = max(0, pointer.length - size + 1 - span)
        if isinstance(pointer.offset, int):
            return None if 0 <= pointer.offset + low < room else "true"
        limit = str(room)
    else:
        limit = access.start_limit(e, pointer, size + span)
    start = pointer.offset if low == 0 else t.op(f"add i64 {pointer.offset}, {low}")
    return t.op(f"icmp uge i64 {start}, {limit}")


# Loads


def emit_load_elements(e: VectorEmitter, where: LanePtr, elem: ir.Type, count: int, mask: str | None, align: int) -> list[str]:
    """Emits a load of `count` consecutive elements per lane. Returns one vector per element."""
    size = llvm_types.size_of(elem)
    step = _row_step(where, size, count)
    if step is not None:
        return _emit_rows_load(e, where, elem, count, step, mask, align)
    if mask is None and where.index is None and (shared := _emit_shared_load(e, where, elem, count, align)) is not None:
        return shared
    if mask is not None and count == 1 and where.index is None and (order := row_order(where.lane_offsets, size)) is not None:
        return [_emit_ordered_load(e, where, elem, order, mask, align)]
    if count == 1 and where.index is None and (found := runs.find_runs(where.lane_offsets, size)) is not None:
        whole = runs.emit_load(e, where, elem, found, mask, align)
        if whole is not None:
            return [whole]
    word = words.word_of(elem, count)
    if word is not None:
        return words.split_word(e, emit_gather(e, emit_addresses(e, where), word, mask, align), word, elem, count)
    parts = []
    for at in range(count):
        moved = replace(where, pointer=access.offset_pointer(e, where.pointer, 1, at * size))
        parts.append(_emit_gather_of(e, moved, elem, mask, align))
    return parts


def _row_step(where: LanePtr, size: int, count: int) -> int | None:
    """Returns `row_step` of lanes with known offsets; None for others."""
    return row_step(where.lane_offsets, size, count) if where.index is None else None


def _emit_rows_load(
    e: VectorEmitter, where: LanePtr, elem: ir.Type, count: int, step: int, mask: str | None, align: int
) -> list[str]:
    word = words.word_of(elem, count)
    if word is not None and step == count:
        return words.split_word(e, _emit_rows_load(e, where, word, 1, 1, mask, align)[0], word, elem, count)
    row, known = LaneRows(e.count, count, step), words.has_known_end(where)
    whole = emit_row_load(e, e.address(where.pointer), elem, row, mask, align, has_known_end=known)
    if step == 1:
        return [whole]
    return [_take(e, elem, whole, e.count * step, range(at, e.count * step, step)) for at in range(count)]


def _emit_shared_load(e: VectorEmitter, where: LanePtr, elem: ir.Type, count: int, align: int) -> list[str] | None:
    """Emits one load of all that the lanes access, where that is no more elements than lanes: some share one, or are in another
    order than lanes. None if it is more."""
    size, low = llvm_types.size_of(elem), min(where.lane_offsets)
    width = shared_width(where.lane_offsets, size, count)
    if width is None:
        return None
    places = [(offset - low) // size for offset in where.lane_offsets]
    read = {place + at for place in places for at in range(count)}
    meant = None if len(read) == width else vt.mask_of(at in read for at in range(width))
    address = e.address(access.offset_pointer(e, where.pointer, 1, low))
    whole = emit_masked_load(e.unit, e.body, address, elem, width, meant, align)
    return [_take(e, elem, whole, width, [place + at for place in places]) for at in range(count)]


def _take(e: VectorEmitter, elem: ir.Type, row: str, width: int, places: Iterable[int]) -> str:
    """Returns the elements of a row of `width` that are at `places`, one for each lane."""
    return vt.shuffle(e.body, llvm_types.spell(ir.Vector(elem, width)), row, places)  # type: ignore[arg-type]


def _emit_ordered_load(e: VectorEmitter, where: LanePtr, elem: ir.Type, order: list[int], mask: str, align: int) -> str:
    """Emits a load of a row that some lanes read in another order: backwards, say. `_emit_shared_load` is for all lanes."""
    active = vt.shuffle(e.body, f"<{e.count} x i1>", mask, order)
    start = replace(where, pointer=access.offset_pointer(e, where.pointer, 1, where.lane_offsets[order[0]]))
    row = _emit_rows_load(e, start, elem, 1, 1, active, align)[0]
    return vt.shuffle(e.body, e.lanes.spelled(elem), row, [order.index(lane) for lane in range(e.count)])


def emit_addresses(e: VectorEmitter, where: LanePtr) -> str:
    """Returns a vector of machine addresses."""
    t, base = e.body, e.address(where.pointer)
    if where.index is None:
        return t.op(f"getelementptr i8, ptr {base}, <{e.count} x i64> {vt.numbers(_I64, where.lane_offsets)}")
    if any(where.lane_offsets):
        steps = e.lanes.offsets(replace(where, pointer=replace(where.pointer, offset=0)))
        return t.op(f"getelementptr i8, ptr {base}, <{e.count} x i64> {steps}")
    return t.op(f"getelementptr [{where.stride} x i8], ptr {base}, <{e.count} x i64> {e.lanes.steps(where)}")


def _emit_gather_of(e: VectorEmitter, where: LanePtr, elem: ir.Type, mask: str | None, align: int) -> str:
    if words.is_word_readable(where, elem, align):
        plain = where.stride == llvm_types.size_of(elem) and not any(where.lane_offsets)
        if where.index is not None and where.bits == 32 and plain:
            return words.emit_indexed_word_gather(e, e.address(where.pointer), where.index, elem, mask)
        return words.emit_word_gather(e, emit_addresses(e, where), elem, mask)
    return emit_gather(e, emit_addresses(e, where), elem, mask, align)


def emit_gather(e: VectorEmitter, pointers: str, elem: ir.Type, mask: str | None, align: int) -> str:
    """Emits a load of one element per address. Inactive lanes get an arbitrary value."""
    t, spelled = e.body, e.lanes.spelled(elem)
    if llvm_types.size_of(elem) < 4 and mask is not None:  # no such instruction: plain loads, of nothing where there is no work
        zero = e.prologue.op("alloca i64, align 8")
        e.prologue.do(f"store i64 0, ptr {zero}")
        aside = vt.splat_pointer(t, zero, e.count)
        pointers = t.op(f"select <{e.count} x i1> {mask}, <{e.count} x ptr> {pointers}, <{e.count} x ptr> {aside}")
        mask = None
    name = f"llvm.masked.gather.{intrinsic_suffix(e.lanes.wide(elem))}.v{e.count}p0"
    callee = e.unit.declare(name, spelled, f"<{e.count} x ptr>, <{e.count} x i1>, {spelled}")
    lanes = f"<{e.count} x i1> {vt.text_of(mask)}"
    return t.op(f"call {callee}(<{e.count} x ptr> align {align} {pointers}, {lanes}, {spelled} zeroinitializer)")


# Stores


def emit_store_elements(e: VectorEmitter, where: LanePtr, elem: ir.Type, parts: list[str], mask: str | None, align: int) -> None:
    """Emits a store of consecutive elements per lane."""
    size, word = llvm_types.size_of(elem), words.word_of(elem, len(parts))
    step = None if where.index is not None else stored_step(where.lane_offsets, size, len(parts))
    if word is not None:
        step = 1 if step == len(parts) else None
        elem, parts, size = word, [words.join_word(e, parts, word, elem)], llvm_types.size_of(word)
    if step is not None:
        _emit_rows_store(e, where, elem, parts, step, mask, align)
        return
    if len(parts) == 1 and where.index is None and (order := row_order(where.lane_offsets, size)) is not None:
        _emit_ordered_store(e, where, elem, parts[0], order, mask, align)
        return
    if len(parts) == 1 and where.index is None:
        found = runs.find_runs(where.lane_offsets, size)
        if found is not None and runs.are_stored(found, size):
            runs.emit_store(e, where, elem, parts[0], found, mask, align)
            return
    for at, part in enumerate(parts):
        moved = replace(where, pointer=access.offset_pointer(e, where.pointer, 1, at * size))
        emit_scatter(e, emit_addresses(e, moved), elem, part, mask, align)


def _emit_rows_store(
    e: VectorEmitter, where: LanePtr, elem: ir.Type, parts: list[str], step: int, mask: str | None, align: int
) -> None:
    address = e.address(where.pointer)
    whole = parts[0] if step == 1 else _interleave(e, elem, parts, step)
    emit_row_store(e, address, elem, LaneRows(e.count, len(parts), step), whole, mask, align)


def _emit_ordered_store(
    e: VectorEmitter, where: LanePtr, elem: ir.Type, part: str, order: list[int], mask: str | None, align: int
) -> None:
    """Emits a store of a row that the lanes fill in another order: backwards, say."""
    row = vt.shuffle(e.body, e.lanes.spelled(elem), part, order)
    active = None if mask is None else vt.shuffle(e.body, f"<{e.count} x i1>", mask, order)
    start = access.offset_pointer(e, where.pointer, 1, where.lane_offsets[order[0]])
    _emit_rows_store(e, replace(where, pointer=start), elem, [row], 1, active, align)


def _interleave(e: VectorEmitter, elem: ir.Type, parts: list[str], step: int) -> str:
    """Returns the components interleaved, lane after lane. Missing ones, up to `step`, are arbitrary."""
    vectors = [*parts, *[parts[0]] * (step - len(parts))]
    count, width = len(vectors), e.count
    joined = vectors
    while len(joined) > 1:  # pairs are joined end to end
        if len(joined) % 2:
            joined.append(joined[-1])
        pairs = []
        for a, b in zip(joined[::2], joined[1::2], strict=True):
            vector = llvm_types.spell(ir.Vector(elem, width))  # type: ignore[arg-type]
            pairs.append(vt.shuffle(e.body, vector, a, range(2 * width), b))
        joined, width = pairs, 2 * width
    vector = llvm_types.spell(ir.Vector(elem, width))  # type: ignore[arg-type]
    return vt.shuffle(e.body, vector, joined[0], (part * e.count + lane for lane in range(e.count) for part in range(count)))


def emit_scatter(e: VectorEmitter, pointers: str, elem: ir.Type, part: str, mask: str | None, align: int) -> None:
    """Emits a store of one element per address, lane 0 first."""
    spelled = e.lanes.spelled(elem)
    if llvm_types.size_of(elem) < 4 and mask is not None:
        _emit_scatter_loop(e, pointers, elem, part, mask, align)
        return
    name = f"llvm.masked.scatter.{intrinsic_suffix(e.lanes.wide(elem))}.v{e.count}p0"
    callee = e.unit.declare(name, "void", f"{spelled}, <{e.count} x ptr>, <{e.count} x i1>")
    lanes = f"<{e.count} x i1> {vt.text_of(mask)}"
    e.body.do(f"call {callee}({spelled} {part}, <{e.count} x ptr> align {align} {pointers}, {lanes})")


def _emit_scatter_loop(e: VectorEmitter, pointers: str, elem: ir.Type, part: str, mask: str, align: int) -> None:
    """Emits a loop that stores elements too small for a scatter."""
    t = e.body
    bits = vt.bits_of(t, mask, e.count)
    some, done = t.fresh("store"), t.fresh("stored")
    t.branch(t.op(f"icmp ne i32 {bits}, 0"), some, done)
    with vt.each_bit(t, e.unit.declare("llvm.cttz.i32", "i32", "i32, i1"), bits, some, done) as lane:
        item = t.op(f"extractelement {e.lanes.spelled(elem)} {part}, i32 {lane}")
        address = t.op(f"extractelement <{e.count} x ptr> {pointers}, i32 {lane}")
        t.do(f"store {llvm_types.spell(elem)} {item}, ptr {address}, align {align}")


def emit_last_lane(e: VectorEmitter, parts: list[str], type: ir.Type) -> str:
    """Returns the value of the last active lane, which remains after a store of all lanes to one address."""
    t = e.body
    lane = str(e.count - 1)
    if e.active.mask is not None:
        count = e.unit.declare("llvm.ctlz.i32", "i32", "i32, i1")
        zeros = t.op(f"call {count}(i32 {vt.bits_of(t, e.active.mask, e.count)}, i1 false)")
        lane = t.op(f"and i32 {t.op(f'sub i32 31, {zeros}')}, {e.count - 1}")
    items = [t.op(f"extractelement {e.lanes.spelled(type)} {part}, i32 {lane}") for part in parts]
    if not isinstance(type, ir.Vector):
        return items[0]
    whole = "zeroinitializer"
    for at, item in enumerate(items):
        whole = t.op(f"insertelement {llvm_types.spell(type)} {whole}, {llvm_types.spell(type.elem)} {item}, i32 {at}")
    return whole
