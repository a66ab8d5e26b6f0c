"""Addresses and fills of a tile's private variables."""

from __future__ import annotations

from ...ir import ir
from ...ir.queries import object_align, private_bytes
from ..emit.region import RegionEmitter
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .tile import Tile
from .vector_plan import VectorPlan


def emit_tile_number(e: RegionEmitter, tile: Tile, t: Text) -> str:
    """Returns the number in its group of the tile whose first work-item has the current ids."""
    counts = tile.count(e.unit.spec.local_size)
    result = "0"
    for axis in (2, 1, 0):
        if result != "0":
            result = t.op(f"mul i64 {result}, {counts[axis]}")
        if counts[axis] > 1:
            own = t.op(f"udiv i64 {e.item_ids.local[axis]}, {tile.size[axis]}")
            result = own if result == "0" else t.op(f"add i64 {result}, {own}")
    return result


class PrivateRoom:
    """Where the lanes' copies of private variables lie, and of what checks keep beside them."""

    def __init__(self, e: RegionEmitter, plan: VectorPlan):
        self._e, self._privates, self._count = e, plan.privates, plan.lanes

    def address(self, instr: ir.Instr, placed: dict[int, tuple[int, int]], nbytes: int | None = None) -> str:
        """Returns the address of all lanes' copies of a private variable: on the stack, or in the arena if it is in `placed`.
        nbytes: what is kept of it, if that is less than the copies."""
        whole = nbytes or self._privates.slot_bytes(instr) * self._count
        if id(instr) not in placed:
            return self._e.prologue.op(f"alloca [{whole} x i8], align {object_align(whole)}")
        offset, stride = placed[id(instr)]
        start = self._e.prologue.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        if not stride:
            return start
        slot = self._e.opening.op(f"mul i64 {self._e.slot}, {stride}")
        return self._e.opening.op(f"getelementptr i8, ptr {start}, i64 {slot}")

    def fill(self, t: Text, instr: ir.Instr, base: str, byte: str, nbytes: int | None = None) -> None:
        """Emits a fill of all lanes' copies of a private variable, or of its shadow, with `byte`. nbytes: as of `address`."""
        fill = self._e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        whole = nbytes or self._privates.slot_bytes(instr) * self._count
        t.do(f"call {fill}(ptr align {min(128, whole & -whole)} {base}, i8 {byte}, i64 {whole}, i1 false)")

    def clear_lanes(self, instr: ir.Instr, base: str, mask: str) -> None:
        """Emits code that zeroes the copies of a private variable, or of its shadow, that the lanes in `mask` have."""
        t, granule = self._e.body, self._privates.granule(instr)
        if granule is not None:
            word = f"<{self._count} x i{8 * granule}>"
            keep = t.op(f"sext <{self._count} x i1> {vt.emit_not_mask(t, mask, self._count)} to {word}")
            emit_private_and(t, base, private_bytes(instr) // granule, granule * self._count, word, keep)
            return
        fill = self._e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        for lane in range(self._count):
            nbytes = t.op(
                f"select i1 {t.op(f'extractelement <{self._count} x i1> {mask}, i32 {lane}')}, i64 {private_bytes(instr)}, i64 0"
            )
            own = t.op(f"getelementptr i8, ptr {base}, i64 {lane * self._privates.slot_bytes(instr)}")
            t.do(f"call {fill}(ptr {own}, i8 0, i64 {nbytes}, i1 false)")


_STRAIGHT = 16
"""Rows of the shadow of a variable up to which code for each is shorter than a loop."""


def emit_private_and(t: Text, base: str, rows: int, row_bytes: int, type: str, keep: str) -> None:
    """Emits code that leaves of each of the `rows` at `base`, of an LLVM type, the bits in `keep`."""

    def change(at: str | int) -> None:
        place = t.op(f"getelementptr i8, ptr {base}, i64 {at}")
        row = t.op(f"and {type} {t.op(f'load {type}, ptr {place}, align 1')}, {keep}")
        t.do(f"store {type} {row}, ptr {place}, align 1")

    if rows <= _STRAIGHT:
        for number in range(rows):
            change(number * row_bytes)
        return
    before, turn, done = t.label, t.fresh("turn"), t.fresh("done")
    t.jump(turn)
    t.block(turn)
    at = t.open_phi("i64")
    change(at.name)
    following = t.op(f"add i64 {at.name}, {row_bytes}")
    at.add(("0", before), (following, turn))
    t.branch(t.op(f"icmp ult i64 {following}, {rows * row_bytes}"), turn, done)
    t.block(done)
