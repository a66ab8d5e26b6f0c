"""Where the lanes of an access are: all at one place, in a row that one access of memory serves, or apart."""

from __future__ import annotations

from enum import IntEnum

from ....ir import ir, llvm_types
from ....ir.builtins import builtin_of
from ....ir.memory_ops import address_operands, is_plain_store, moved_type
from ....ir.provenance import is_pointer
from ...emit.pointers import LaneOffsets
from ..images import component
from ..lane_shape import row_order, row_step, shared_width, stored_step
from ..lane_shapes import LaneShapes
from ..privates import Privates
from .runs import are_stored, find_runs
from .words import word_of


class Pattern(IntEnum):
    """Where the lanes of an access are."""

    SAME = 0
    ROW = 1
    APART = 2


def pattern_of(shapes: LaneShapes, privates: Privates, instr: ir.Instr) -> Pattern:
    """Returns the pattern of the accesses of `instr`. Private variables have one for any lanes."""
    if builtin_of(instr).image:
        return _texel_pattern(shapes, instr)
    addresses = [v for v in address_operands(instr) if is_pointer(v) and not privates.is_private(v)]
    if builtin_of(instr).vector is not None and addresses:
        return _pattern(instr, vector_offsets(shapes, instr))
    return max((_pattern(instr, shapes.of(v).lane_offsets) for v in addresses), default=Pattern.SAME)


def vector_offsets(shapes: LaneShapes, instr: ir.Instr) -> LaneOffsets | None:
    """Returns the lane offsets of vloadN and vstoreN, whose index counts whole vectors."""
    index, base = (shapes.of(v).lane_offsets for v in instr.operands[-2:])
    if index is None or base is None:
        return None
    type = moved_type(instr)
    size = llvm_types.size_of(llvm_types.elem_of(type)) * llvm_types.lanes_of(type)
    return tuple(start + size * step for start, step in zip(base, index, strict=True))


def _pattern(instr: ir.Instr, offsets: LaneOffsets | None) -> Pattern:
    """Of an access whose lanes are `offsets` bytes from lane 0's."""
    if offsets is None:
        return Pattern.APART
    if not any(offsets):
        return Pattern.SAME
    type = moved_type(instr)
    elem = llvm_types.elem_of(type)
    if not isinstance(elem, (ir.Int, ir.Float)):
        return Pattern.APART
    size, count = llvm_types.size_of(elem), llvm_types.lanes_of(type)
    found = find_runs(offsets, size) if count == 1 else None
    if found is not None and (are_stored(found, size) or not is_plain_store(instr)):
        return Pattern.ROW
    if is_plain_store(instr):
        word = word_of(elem, count) is not None
        step = stored_step(offsets, size, count)
        in_row = step == count if word else step is not None
        in_order = (word or count == 1) and row_order(offsets, size * count) is not None
        return Pattern.ROW if in_row or in_order else Pattern.APART
    in_row = row_step(offsets, size, count) is not None or shared_width(offsets, size, count) is not None
    return Pattern.ROW if in_row else Pattern.APART


def _texel_pattern(shapes: LaneShapes, instr: ir.Instr) -> Pattern:
    where = next((v for v in instr.operands[1:] if isinstance(llvm_types.elem_of(v.type), ir.Int)), None)
    if where is None:
        return Pattern.APART
    parts = [component(where, at) for at in range(min(llvm_types.lanes_of(where.type), 3))]
    first, *rest = (Pattern.APART if part is None else _steady(shapes.of(part).lane_offsets) for part in parts)
    return first if not any(rest) else Pattern.APART


def _steady(offsets: LaneOffsets | None) -> Pattern:
    """Of a coordinate: ROW if it grows by the same from lane to lane."""
    if offsets is None:
        return Pattern.APART
    if not any(offsets):
        return Pattern.SAME
    return Pattern.ROW if all(offset == lane * offsets[1] for lane, offset in enumerate(offsets)) else Pattern.APART
