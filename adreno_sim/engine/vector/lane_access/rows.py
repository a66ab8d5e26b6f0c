"""Loads and stores of lanes that lie side by side in memory, one instruction each.

Where no instruction takes some bytes of a vector, LLVM makes a masked access of small elements a branch for each of them; and an
instruction that stores some lanes may take many times as long as one that stores all. There an access of all lanes is
distinguished; others have a separate function, in which a load within a page reads it all, and the rest is a loop over lanes.
"""

from __future__ import annotations

from ....ir import ir, llvm_types
from ....records import dataclass
from ...emit.builtin_registry import intrinsic_suffix
from ...emit.unit import Unit
from ...llvm import objects
from ...llvm import vector_text as vt
from ...llvm.text import Text
from ..emitter import VectorEmitter

_PAGE = 4096
"""Bytes of the smallest page of memory."""


@dataclass(frozen=True)
class LaneRows:
    """`lanes` lanes; in each lane, `count` of `step` elements are accessed."""

    lanes: int
    count: int = 1
    step: int = 1

    @property
    def length(self) -> int:
        """Of the vector: that of all elements from the first lane's on."""
        return self.lanes * self.step

    @property
    def meant(self) -> str | None:
        """The mask of what lanes access; None for everything."""
        if self.step == self.count:
            return None
        return vt.mask_of(at % self.step < self.count for at in range(self.length))


def emit_row_load(
    e: VectorEmitter, address: str, elem: ir.Type, row: LaneRows, mask: str | None, align: int, *, has_known_end: bool
) -> str:  # fmt: skip
    """Emits the load of a row. Elements outside `mask`, which is one of lanes, are zero, and only accessed if they are in a page
    with others.

    has_known_end: LLVM knows where the object ends (`words.has_known_end`), so that nothing beyond it may be accessed.
    """
    if mask is None or not _takes_branches(elem):
        return emit_masked_load(e.unit, e.body, address, elem, row.length, _spread(e.body, row, mask), align)
    t, bits = e.body, vt.bits_of(e.body, mask, row.lanes)
    spelled, suffix, _ = _spell(elem, row.length)
    every, some, done = t.fresh("every"), t.fresh("some"), t.fresh("loaded")
    t.branch(t.op(f"icmp eq i32 {bits}, {(1 << row.lanes) - 1}"), every, some)
    t.block(every)
    whole = emit_masked_load(e.unit, e.body, address, elem, row.length, row.meant, align)
    t.jump(done)
    t.block(some)
    name = f"@load_lanes.{suffix}.{row.count}.{row.step}{'.singly' if has_known_end else ''}"
    e.unit.define_once(name, lambda: _lanes_function(e.unit, name, elem, row, is_load=True, pages=not has_known_end))
    rest = t.op(f"call {spelled} {name}(ptr {address}, i32 {bits})")
    t.jump(done)
    t.block(done)
    return t.op(f"phi {spelled} [ {whole}, %{every} ], [ {rest}, %{some} ]")


def emit_row_store(
    e: VectorEmitter, address: str, elem: ir.Type, row: LaneRows, whole: str, mask: str | None, align: int
) -> None:
    """Emits the store of a row. Elements outside `mask`, which is one of lanes, are not accessed."""
    slowly = objects.machine().processor.stores_some_lanes_slowly
    if not (slowly or (mask and _takes_branches(elem))):
        _emit_masked_store(e, address, elem, row.length, whole, _spread(e.body, row, mask), align)
        return
    if mask is None:
        _emit_whole_store(e, address, elem, row, whole, align)
        return
    t, bits = e.body, vt.bits_of(e.body, mask, row.lanes)
    every, some, done = t.fresh("every"), t.fresh("some"), t.fresh("stored")
    t.branch(t.op(f"icmp eq i32 {bits}, {(1 << row.lanes) - 1}"), every, some)
    t.block(every)
    _emit_whole_store(e, address, elem, row, whole, align)
    t.jump(done)
    t.block(some)
    if row.step > 1 or _takes_branches(elem):
        spelled, suffix, _ = _spell(elem, row.length)
        name = f"@store_lanes.{suffix}.{row.count}.{row.step}"
        e.unit.define_once(name, lambda: _lanes_function(e.unit, name, elem, row, is_load=False, pages=False))
        t.do(f"call void {name}(ptr {address}, i32 {bits}, {spelled} {whole})")
    else:
        _emit_masked_store(e, address, elem, row.length, whole, mask, align)
    t.jump(done)
    t.block(done)


def _emit_whole_store(e: VectorEmitter, address: str, elem: ir.Type, row: LaneRows, whole: str, align: int) -> None:
    """Emits the store of all lanes of a row: each for itself, if there is something between them."""
    spelled = _spell(elem, row.length)[0]
    if row.meant is None:
        e.body.do(f"store {spelled} {whole}, ptr {address}, align {align}")
        return
    piece, size = _spell(elem, row.count)[0], llvm_types.size_of(elem)
    for lane in range(row.lanes):
        part = vt.shuffle(e.body, spelled, whole, (lane * row.step + at for at in range(row.count)))
        there = e.body.op(f"getelementptr i8, ptr {address}, i64 {lane * row.step * size}")
        e.body.do(f"store {piece} {part}, ptr {there}, align {min(align, size)}")


def _emit_masked_store(
    e: VectorEmitter, address: str, elem: ir.Type, length: int, whole: str, mask: str | None, align: int
) -> None:
    """Emits the store of `length` elements. Those outside `mask`, which is one of elements, are not accessed."""
    spelled, suffix, lanes = _spell(elem, length)
    if mask is None:
        e.body.do(f"store {spelled} {whole}, ptr {address}, align {align}")
        return
    callee = e.unit.declare(f"llvm.masked.store.{suffix}.p0", "void", f"{spelled}, ptr, {lanes}")
    e.body.do(f"call {callee}({spelled} {whole}, ptr align {align} {address}, {lanes} {mask})")


def emit_masked_load(unit: Unit, t: Text, address: str, elem: ir.Type, length: int, mask: str | None, align: int) -> str:
    """Emits the load of `length` elements. Those outside `mask`, which is one of elements, are not accessed, and zero."""
    spelled, suffix, lanes = _spell(elem, length)
    if mask is None:
        return t.op(f"load {spelled}, ptr {address}, align {align}")
    callee = unit.declare(f"llvm.masked.load.{suffix}.p0", spelled, f"ptr, {lanes}, {spelled}")
    return t.op(f"call {callee}(ptr align {align} {address}, {lanes} {mask}, {spelled} zeroinitializer)")


def _takes_branches(elem: ir.Type) -> bool:
    """Returns whether LLVM makes a masked access of such elements one after the other."""
    return llvm_types.size_of(elem) < 4 and not objects.machine().processor.masks_bytes


def _spread(t: Text, row: LaneRows, mask: str | None) -> str | None:
    """Returns the mask of elements for a mask of lanes."""
    if mask is None or row.step == 1:
        return row.meant if mask is None else mask
    spread = vt.shuffle(t, f"<{row.lanes} x i1>", mask, (at // row.step for at in range(row.length)))
    return vt.emit_and_masks(t, spread, row.meant, row.length)


def _lanes_function(unit: Unit, name: str, elem: ir.Type, row: LaneRows, is_load: bool, pages: bool) -> str:
    """Returns a function that loads or stores the elements of some lanes. pages: it may load a row within a page as a whole."""
    t, spelled = Text(), _spell(elem, row.length)[0]
    t.branch(t.op("icmp eq i32 %bits, 0"), "none", "some")
    t.block("some")
    if pages:
        _emit_page(t, elem, row)
    room = t.op(f"alloca {spelled}, align 64")
    t.do(f"store {spelled} {'zeroinitializer' if is_load else '%whole'}, ptr {room}, align 64")
    _emit_loop(t, unit.declare("llvm.cttz.i32", "i32", "i32, i1"), elem, row, room, is_load)
    t.do(f"ret {spelled} {t.op(f'load {spelled}, ptr {room}, align 64')}" if is_load else "ret void")
    t.block("none")
    t.do(f"ret {spelled} zeroinitializer" if is_load else "ret void")
    head = f"{spelled} {name}(ptr %row, i32 %bits)" if is_load else f"void {name}(ptr %row, i32 %bits, {spelled} %whole)"
    return "\n".join([f"define internal {head} #2 {{", "entry:", *t.lines, "}"])


def _emit_page(t: Text, elem: ir.Type, row: LaneRows) -> None:
    """Emits the load of a row that is in one page, which may be read as a whole: some lane's element is in it."""
    spelled, _, flags = _spell(elem, row.length)
    place = t.op(f"and i64 {t.op('ptrtoint ptr %row to i64')}, {_PAGE - 1}")
    within = t.op(f"icmp ule i64 {place}, {_PAGE - row.length * llvm_types.size_of(elem)}")
    t.branch(within, "page", "pages")
    t.block("page")
    lanes = "%bits" if row.lanes == 32 else t.op(f"trunc i32 %bits to i{row.lanes}")
    mask = t.op(f"bitcast i{row.lanes} {lanes} to <{row.lanes} x i1>")
    whole = t.op(f"load {spelled}, ptr %row, align 1")
    t.do(f"ret {spelled} {t.op(f'select {flags} {_spread(t, row, mask)}, {spelled} {whole}, {spelled} zeroinitializer')}")
    t.block("pages")


def _emit_loop(t: Text, lowest: str, elem: ir.Type, row: LaneRows, room: str, is_load: bool) -> None:
    """Emits a loop over lanes that copies their elements between the row and `room`."""
    size, lane_loop = llvm_types.size_of(elem), t.fresh("lane")
    t.jump(lane_loop)
    with vt.each_bit(t, lowest, "%bits", lane_loop, "done") as lane:
        offset = t.op(f"mul i64 {t.op(f'zext i32 {lane} to i64')}, {row.step * size}")
        there, here = (t.op(f"getelementptr i8, ptr {start}, i64 {offset}") for start in ("%row", room))
        source, target = (there, here) if is_load else (here, there)
        piece = f"[{row.count * size} x i8]" if row.count > 1 else f"i{8 * size}"
        t.do(f"store {piece} {t.op(f'load {piece}, ptr {source}, align 1')}, ptr {target}, align 1")


def _spell(elem: ir.Type, length: int) -> tuple[str, str, str]:
    """Returns the type of a row in LLVM text, and in names of intrinsics, and the type of its mask."""
    row = ir.Vector(elem, length)  # type: ignore[arg-type]
    return llvm_types.spell(row), intrinsic_suffix(row), f"<{length} x i1>"
