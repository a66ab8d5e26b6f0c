"""Addresses and fills of a tile's private variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir import ir
from ...ir.queries import object_align
from ..llvm.text import Text

if TYPE_CHECKING:
    from .values import LaneValues


def emit_tile_number(e: LaneValues, t: Text) -> str:
    """Returns the number in its group of the tile whose first work-item has the ids that are at hand."""
    counts = e.tile.count(e.unit.spec.local_size)
    result = "0"
    for axis in (2, 1, 0):
        if result != "0":
            result = t.op(f"mul i64 {result}, {counts[axis]}")
        if counts[axis] > 1:
            own = t.op(f"udiv i64 {e.item_ids.local[axis]}, {e.tile.size[axis]}")
            result = own if result == "0" else t.op(f"add i64 {result}, {own}")
    return result


def private_address(e: LaneValues, instr: ir.Instr, placed: dict[int, tuple[int, int]], nbytes: int | None = None) -> str:
    """Returns the address of all lanes' copies of a private variable: on the stack, or in the arena if it is in `placed`.
    nbytes: what is kept of it, if that is less than the copies."""
    whole = nbytes or e.privates.slot_bytes(instr) * e.count
    if id(instr) not in placed:
        return e.prologue.op(f"alloca [{whole} x i8], align {object_align(whole)}")
    offset, stride = placed[id(instr)]
    start = e.prologue.op(f"getelementptr i8, ptr %arena, i64 {offset}")
    if not stride:
        return start
    slot = e.opening.op(f"mul i64 {e.tile_number}, {stride}")
    return e.opening.op(f"getelementptr i8, ptr {start}, i64 {slot}")


def emit_private_fill(e: LaneValues, t: Text, instr: ir.Instr, base: str, byte: str, nbytes: int | None = None) -> None:
    """Emits a fill of all lanes' copies of a private variable, or of its shadow, with `byte`. nbytes: as of `private_address`."""
    fill = e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    whole = nbytes or e.privates.slot_bytes(instr) * e.count
    t.do(f"call {fill}(ptr align {min(128, whole & -whole)} {base}, i8 {byte}, i64 {whole}, i1 false)")
