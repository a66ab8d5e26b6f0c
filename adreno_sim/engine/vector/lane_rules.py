"""The lane shape of an integer operation's result, by those of its operands.

Congruences hold in unbounded integers only where the operation is exact; else only for powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...base.integers.congruence import Congruence
from ...base.integers.interval import Interval
from ...ir import ir
from ..abi.specialization import ROOM, ROOM_24
from ..analysis.interval_rules import factors_24
from ..emit.builtin_registry import is_signed
from ..emit.pointers import LaneOffsets
from .lane_shape import VARYING, LaneShape

if TYPE_CHECKING:
    from .lane_shapes import LaneShapes


def _make_shape(shapes: LaneShapes, instr: ir.Instr, lane_offsets: LaneOffsets, first: Congruence) -> LaneShape:
    if not shapes.is_nsw(instr) or any(lane_offsets):
        # Lane 0 may be without work, and so beyond the interval: what wraps keeps its low bits only.
        bits = instr.type.bits if isinstance(instr.type, ir.Int) else 64
        if not shapes.never_wraps(instr, LaneShape(lane_offsets)) or not shapes.is_nsw(instr):
            first = first.modulo(1 << bits)
    return LaneShape(lane_offsets, first)


def _add_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    assert a.lane_offsets is not None
    assert b.lane_offsets is not None
    sign = -1 if instr.op == "sub" else 1
    lane_offsets = tuple(x + sign * y for x, y in zip(a.lane_offsets, b.lane_offsets, strict=True))
    return _make_shape(shapes, instr, lane_offsets, a.first.plus(b.first.times(sign)))


def _mul_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    if a.number is not None:
        a, b = b, a
    return _times(shapes, instr, a, b, b.number)


def _shl_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    bits = instr.type.bits if isinstance(instr.type, ir.Int) else 0
    return _times(shapes, instr, a, b, 1 << b.number if b.number is not None and 0 <= b.number < bits else None)


def _times(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape, factor: int | None) -> LaneShape:
    """Returns the shape of `a` times a factor that is the same in all lanes; None: it is not known what `b` makes of `a`."""
    if factor is None:
        return shapes.uniform_shape() if a.uniform and b.uniform else VARYING
    assert a.lane_offsets is not None
    return _make_shape(shapes, instr, tuple(x * factor for x in a.lane_offsets), a.first.times(factor))


def _constant_divisor(instr: ir.Instr, b: LaneShape) -> int | None:
    """Returns the divisor of a division, shift or mask by a positive constant; None for others."""
    number = b.number
    if number is None:
        return None
    if instr.op in ("lshr", "ashr"):
        return 1 << number if 0 <= number < 63 else None
    if instr.op == "and":
        return number + 1 if number >= 0 and (number + 1) & number == 0 else None
    return number if number > 0 else None


def _quotients(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> tuple[LaneOffsets, LaneOffsets, int] | None:
    """Returns the lane offsets of quotient and remainder, and lane 0's remainder (-1 if unknown); None if they depend on lane
    0's value."""
    by, value = _constant_divisor(instr, b), instr.operands[0]
    if by is None or a.lane_offsets is None or not shapes.is_nonnegative(value) or not shapes.never_wraps(value, a):
        return None
    known = a.first.modulo(by)
    step, first = known.modulus, known.rest  # lane 0 is `first` modulo this, and anything else beyond
    if a.first.number is None and not (step == by and _rounds_down(shapes, instr, a)):
        if min(a.lane_offsets) + first < 0 or max(a.lane_offsets) + first >= step:
            return None
        return (0,) * len(a.lane_offsets), a.lane_offsets, first if step == by else -1
    start = a.first.rest % by
    return tuple((start + p) // by for p in a.lane_offsets), tuple((start + p) % by - start for p in a.lane_offsets), start


def _rounds_down(shapes: LaneShapes, instr: ir.Instr, a: LaneShape) -> bool:
    """Returns whether a quotient or remainder is that of the next lower multiple in lane 0 too, which may be negative if it has
    no work."""
    assert a.lane_offsets is not None
    return instr.op in ("ashr", "and") or shapes.interval_of(instr.operands[0])[0] >= max(a.lane_offsets)


def _div_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    if a.uniform and b.uniform:
        return shapes.uniform_shape()
    found = _quotients(shapes, instr, a, b)
    if found is None:
        return VARYING
    return LaneShape(found[0])


def _rem_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    by = _constant_divisor(instr, b)
    if by is not None and a.uniform and by & (by - 1) == 0 and a.first.number is None and instr.op in ("and", "urem"):
        return shapes.uniform_shape(a.first.modulo(by))
    if a.uniform and b.uniform:
        return shapes.uniform_shape()
    found = _quotients(shapes, instr, a, b)
    if found is None or by is None:
        return VARYING
    return LaneShape(found[1], a.first.modulo(by))


def extend_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape) -> LaneShape:
    """Handles sext, zext, and conversions to a wider type."""
    value = instr.operands[0]
    if not a.uniform and shapes.stays_narrow(instr, a, ROOM):
        return a
    if a.uniform:
        ok = instr.op == "sext" or shapes.is_nonnegative(value)
        return a if ok else shapes.uniform_shape()
    if not shapes.never_wraps(value, a) or not (instr.op == "sext" or shapes.is_nonnegative(value)):
        return VARYING
    return a


def trunc_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape) -> LaneShape:
    assert isinstance(instr.type, ir.Int)
    if instr.type.bits == 1:
        return shapes.uniform_shape() if a.uniform else VARYING
    if shapes.range_of_lanes(instr.operands[0], a).fits(instr.type.bits):
        return a
    return LaneShape(a.lane_offsets, a.first.modulo(1 << instr.type.bits))


def product24_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape, added: LaneShape | None = None) -> LaneShape:
    """mul24 and mad24, which use 24 bits of their factors: those of a factor that differs between lanes must be all."""
    factor, by, value = (a, b.number, instr.operands[0]) if b.number is not None else (b, a.number, instr.operands[1])
    product = shapes.uniform_shape()
    if not (a.uniform and b.uniform):
        whole = factors_24(not is_signed(instr))
        if by is None or not whole.holds(Interval.exactly(by)) or factor.lane_offsets is None:
            return VARYING
        if not shapes.stays_narrow(instr, factor, ROOM_24) and not whole.holds(shapes.range_of_lanes(value, factor)):
            return VARYING
        assert isinstance(instr.type, ir.Int)
        offsets = tuple(offset * by for offset in factor.lane_offsets)
        product = LaneShape(offsets, factor.first.times(by).modulo(1 << instr.type.bits))
    if added is None or product.lane_offsets is None or added.lane_offsets is None:
        return product if added is None else VARYING
    offsets = tuple(one + other for one, other in zip(product.lane_offsets, added.lane_offsets, strict=True))
    return LaneShape(offsets, product.first.plus(added.first).modulo(1 << 32))


def _icmp_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    """Handles comparisons. One with a constant is uniform if no position in the tile can change its result."""
    if a.uniform and b.uniform:
        return shapes.uniform_shape()
    value = instr.operands[0]
    number = b.number
    if number is None or not isinstance(value.type, ir.Int) or a.lane_offsets is None:
        return VARYING
    if not shapes.never_wraps(value, a) or (instr.pred[0] == "u" and (not shapes.is_nonnegative(value) or number < 0)):
        return VARYING
    bounds = {"lt": [number], "le": [number + 1], "ge": [number], "gt": [number + 1], "eq": [number, number + 1],
              "ne": [number, number + 1]}[instr.pred[-2:]]  # fmt: skip
    low, high = min(a.lane_offsets), max(a.lane_offsets)
    # Lanes are split by a bound if lane 0 is in [bound - high, bound - low).
    splits = any(a.first.meets(bound - high, bound - low) for bound in bounds)
    return VARYING if splits else shapes.uniform_shape()


RULES: dict[str, Callable[..., LaneShape]] = {
    "add": _add_rule, "sub": _add_rule, "mul": _mul_rule, "shl": _shl_rule,
    "udiv": _div_rule, "sdiv": _div_rule, "lshr": _div_rule, "ashr": _div_rule,
    "urem": _rem_rule, "srem": _rem_rule, "and": _rem_rule,
    "sext": extend_rule, "zext": extend_rule, "trunc": trunc_rule, "icmp": _icmp_rule,
}  # fmt: skip
