"""How many work-items are the lanes of a vector: twice as many where that pays for arithmetic of halves.

Halves are half as wide as what vectors are sized for, so that twice as many fit into a register. What is wider takes two
registers then, as much for a work-item as before. Accesses may lose: twice the lanes can reach over the end of a row of the
group, or to where what all lanes read is no longer the same.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import address_operands, touches_memory
from ...ir.provenance import is_pointer
from ..abi.specialization import Specialization
from ..analysis.loop_bounds import trip_count
from ..emit.check import NotVectorizable
from ..emit.half_arithmetic import is_half
from ..llvm import objects
from .images import component
from .lane_shape import LaneShape
from .lane_shapes import LaneShapes
from .privates import Privates
from .structure import Loop
from .tile import choose_tile, dividing_tile

_UNKNOWN_ROUNDS = 8
"""Iterations of a loop whose number is not known."""
_OPERATIONS = ("fadd", "fsub", "fmul", "fdiv", "fcmp")
_SAVED = 4
"""Instructions that an operation on halves saves: itself, and the flush of its result."""
_LOST = 48
"""Instructions that an access costs whose lanes are no longer adjacent or the same."""


class Pattern(IntEnum):
    """Where the lanes of an access are."""

    SAME = 0
    ROW = 1
    APART = 2


def choose_shapes(
    kernel: ir.Function, spec: Specialization, privates: Privates, check: Callable[[LaneShapes], None]
) -> LaneShapes:
    """Returns the shapes of the tile that suits a launch of `kernel` best. Raises NotVectorizable if most lanes would be idle.

    check: raises NotVectorizable for shapes that do not fit.
    """
    processor = objects.machine().processor
    usual = LaneShapes(kernel, spec, choose_tile(spec, processor.lane_counts), privates)
    check(usual)
    wider = dividing_tile(spec.local_size, processor.lanes_of_halves)
    if wider.lanes <= usual.tile.lanes or not wider.divides(spec.local_size):
        return usual
    instrs = [instr for block in kernel.blocks for instr in block.instrs]
    saved = sum(_SAVED * count * _rounds(usual, instr) for instr in instrs if (count := _half_operations(usual, instr)))
    if not saved:
        return usual
    try:
        found = LaneShapes(kernel, spec, wider, privates)
        check(found)
    except NotVectorizable:
        return usual
    lost = sum(
        _LOST * _rounds(usual, instr)
        for instr in instrs
        if touches_memory(instr) and _pattern_of(found, privates, instr) > _pattern_of(usual, privates, instr)
    )
    return found if saved > lost else usual


def _half_operations(shapes: LaneShapes, instr: ir.Instr) -> int:
    """Returns the operations on halves that differ between lanes of which `instr` consists."""
    operands = [v for v in instr.operands if is_half(v.type)]
    function = builtin_of(instr).elementwise and is_half(instr.type)
    if not operands or not (function or instr.op in _OPERATIONS) or all(shapes.of(v).uniform for v in operands):
        return 0
    return llvm_types.lanes_of(operands[0].type) * (2 if len(operands) == 3 else 1)  # a product and a sum


def _rounds(shapes: LaneShapes, instr: ir.Instr) -> int:
    """Returns how often an instruction runs, if no branch leaves it out."""
    rounds, loop = 1, shapes.loop_of(instr)
    while loop is not None:
        rounds *= _rounds_of(loop)
        loop = loop.parent
    return rounds


def _rounds_of(loop: Loop) -> int:
    found = trip_count(loop.head, loop.body)
    return _UNKNOWN_ROUNDS if found is None else found


def _pattern_of(shapes: LaneShapes, privates: Privates, instr: ir.Instr) -> Pattern:
    """Returns the pattern of the accesses of `instr`. Private variables have one for any lanes."""
    if builtin_of(instr).image:
        return _texel_pattern(shapes, instr)
    addresses = [v for v in address_operands(instr) if is_pointer(v) and not privates.is_private(v)]
    return max((_pattern(shapes.of(v)) for v in addresses), default=Pattern.SAME)


def _texel_pattern(shapes: LaneShapes, instr: ir.Instr) -> Pattern:
    where = next((v for v in instr.operands[1:] if isinstance(llvm_types.elem_of(v.type), ir.Int)), None)
    if where is None:
        return Pattern.APART
    parts = [component(where, at) for at in range(min(llvm_types.lanes_of(where.type), 3))]
    first, *rest = (Pattern.APART if part is None else _pattern(shapes.of(part)) for part in parts)
    return first if not any(rest) else Pattern.APART


def _pattern(shape: LaneShape) -> Pattern:
    offsets = shape.lane_offsets
    if offsets is None:
        return Pattern.APART
    if not any(offsets):
        return Pattern.SAME
    return Pattern.ROW if all(offset == lane * offsets[1] for lane, offset in enumerate(offsets)) else Pattern.APART
