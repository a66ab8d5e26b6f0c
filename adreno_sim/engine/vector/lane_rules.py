"""The lane shape of an integer operation's result, by those of its operands.

Congruences hold in unbounded integers only where the operation is exact; else only for powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING

from ...ir import ir
from ..abi.specialization import ROOM, ROOM_24
from ..emit.builtin_registry import is_signed
from ..emit.pointers import LaneOffsets
from .lane_shape import VARYING, LaneShape, congruence

if TYPE_CHECKING:
    from .lane_shapes import LaneShapes


def _make_shape(shapes: LaneShapes, instr: ir.Instr, lane_offsets: LaneOffsets, modulus: int, rest: int) -> LaneShape:
    if not shapes.is_nsw(instr) or any(lane_offsets):
        # Lane 0 may be without work, and so beyond the interval: what wraps keeps its low bits only.
        bits = instr.type.bits if isinstance(instr.type, ir.Int) else 64
        if not shapes.never_wraps(instr, LaneShape(lane_offsets)) or not shapes.is_nsw(instr):
            modulus = gcd(modulus, 1 << bits) if modulus else 1 << bits
    return LaneShape(lane_offsets, *congruence(modulus, rest))


def _add_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    assert a.lane_offsets is not None and b.lane_offsets is not None
    sign = -1 if instr.op == "sub" else 1
    lane_offsets = tuple(x + sign * y for x, y in zip(a.lane_offsets, b.lane_offsets, strict=True))
    return _make_shape(shapes, instr, lane_offsets, gcd(a.modulus, b.modulus), a.rest + sign * b.rest)


def _mul_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    assert a.lane_offsets is not None and b.lane_offsets is not None
    if a.modulus == 0 and a.uniform:
        a, b = b, a
    if not (b.uniform and b.modulus == 0):
        return shapes.uniform_shape() if a.uniform and b.uniform else VARYING
    factor = b.rest
    assert a.lane_offsets is not None
    return _make_shape(shapes, instr, tuple(x * factor for x in a.lane_offsets), a.modulus * abs(factor), a.rest * factor)


def _shl_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    bits = instr.type.bits if isinstance(instr.type, ir.Int) else 0
    if not (b.uniform and b.modulus == 0 and 0 <= b.rest < bits):
        return shapes.uniform_shape() if a.uniform and b.uniform else VARYING
    assert a.lane_offsets is not None
    factor = 1 << b.rest
    return _make_shape(shapes, instr, tuple(x * factor for x in a.lane_offsets), a.modulus * factor, a.rest * factor)


def _constant_divisor(instr: ir.Instr, b: LaneShape) -> int | None:
    """Returns the divisor of a division, shift or mask by a positive constant; None for others."""
    if not (b.uniform and b.modulus == 0):
        return None
    if instr.op in ("lshr", "ashr"):
        return 1 << b.rest if 0 <= b.rest < 63 else None
    if instr.op == "and":
        return b.rest + 1 if b.rest >= 0 and (b.rest + 1) & b.rest == 0 else None
    return b.rest if b.rest > 0 else None


def _quotients(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> tuple[LaneOffsets, LaneOffsets, int] | None:
    """Returns the lane offsets of quotient and remainder, and lane 0's remainder (-1 if unknown); None if they depend on lane
    0's value."""
    by, value = _constant_divisor(instr, b), instr.operands[0]
    if by is None or a.lane_offsets is None or not shapes.is_nonnegative(value) or not shapes.never_wraps(value, a):
        return None
    step = gcd(a.modulus, by)  # lane 0 is `rest` modulo this, and anything else beyond
    if a.modulus and not (step == by and _rounds_down(shapes, instr, a)):
        first = a.rest % step
        if min(a.lane_offsets) + first < 0 or max(a.lane_offsets) + first >= step:
            return None
        return (0,) * len(a.lane_offsets), a.lane_offsets, first if step == by else -1
    start = a.rest % by
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
    if by is not None and a.uniform and by & (by - 1) == 0 and a.modulus and instr.op in ("and", "urem"):
        return shapes.uniform_shape(*congruence(gcd(a.modulus, by), a.rest))
    if a.uniform and b.uniform:
        return shapes.uniform_shape()
    found = _quotients(shapes, instr, a, b)
    if found is None or by is None:
        return VARYING
    step = gcd(a.modulus, by)
    return LaneShape(found[1], *congruence(step, a.rest % step if step else a.rest % by))


def extend_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape) -> LaneShape:
    """Handles sext, zext, and conversions to a wider type."""
    value = instr.operands[0]
    if not a.uniform and shapes.stays_narrow(instr, a, ROOM):
        return a
    if a.uniform:
        ok = instr.op == "sext" or shapes.is_nonnegative(value)
        return shapes.uniform_shape(a.modulus, a.rest) if ok else shapes.uniform_shape()
    if not shapes.never_wraps(value, a) or not (instr.op == "sext" or shapes.is_nonnegative(value)):
        return VARYING
    return a


def trunc_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape) -> LaneShape:
    assert isinstance(instr.type, ir.Int)
    if instr.type.bits == 1:
        return shapes.uniform_shape() if a.uniform else VARYING
    low, high = shapes.interval_of(instr.operands[0])
    half = 1 << (instr.type.bits - 1)
    reach = max(a.lane_offsets or (0,)) - min(a.lane_offsets or (0,))
    if low - reach >= -half and high + reach < half:
        return a
    modulus = gcd(a.modulus, 1 << instr.type.bits) if a.modulus else 1 << instr.type.bits
    return LaneShape(a.lane_offsets, *congruence(modulus, a.rest))


def product24_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape, added: LaneShape | None = None) -> LaneShape:
    """mul24 and mad24, which look at 24 bits of their factors: those of a factor that differs between lanes must be all."""
    factor, by, value = (a, b, instr.operands[0]) if b.uniform and b.modulus == 0 else (b, a, instr.operands[1])
    product = shapes.uniform_shape()
    if not (a.uniform and b.uniform):
        if not (by.uniform and by.modulus == 0 and _fits24(by.rest) and _never_leaves24(shapes, instr, value, factor)):
            return VARYING
        assert factor.lane_offsets is not None and isinstance(instr.type, ir.Int)
        modulus = gcd(factor.modulus * by.rest, 1 << instr.type.bits)
        offsets = tuple(offset * by.rest for offset in factor.lane_offsets)
        product = LaneShape(offsets, *congruence(modulus, factor.rest * by.rest))
    if added is None or product.lane_offsets is None or added.lane_offsets is None:
        return product if added is None else VARYING
    modulus = gcd(product.modulus, added.modulus, 1 << 32)
    offsets = tuple(one + other for one, other in zip(product.lane_offsets, added.lane_offsets, strict=True))
    return LaneShape(offsets, *congruence(modulus, product.rest + added.rest))


def _never_leaves24(shapes: LaneShapes, instr: ir.Instr, value: ir.Value, shape: LaneShape) -> bool:
    """Returns whether 24 bits hold every lane's value, if any lane is active."""
    if shape.lane_offsets is None:
        return False
    if shapes.stays_narrow(instr, shape, ROOM_24):
        return True
    low, high = shapes.interval_of(value)
    reach = max(shape.lane_offsets) - min(shape.lane_offsets)
    return _fits24(low - reach) and _fits24(high + reach) and (is_signed(instr) or low >= reach)


def _fits24(number: int) -> bool:
    """Returns whether a signed integer of 24 bits holds a number."""
    return -(1 << 23) <= number < 1 << 23


def _icmp_rule(shapes: LaneShapes, instr: ir.Instr, a: LaneShape, b: LaneShape) -> LaneShape:
    """Handles comparisons. One with a constant is uniform if no position in the tile can change its result."""
    if a.uniform and b.uniform:
        return shapes.uniform_shape()
    value = instr.operands[0]
    if not (b.uniform and b.modulus == 0 and isinstance(value.type, ir.Int)) or a.lane_offsets is None:
        return VARYING
    if not shapes.never_wraps(value, a) or (instr.pred[0] == "u" and (not shapes.is_nonnegative(value) or b.rest < 0)):
        return VARYING
    bounds = {"lt": [b.rest], "le": [b.rest + 1], "ge": [b.rest], "gt": [b.rest + 1], "eq": [b.rest, b.rest + 1],
              "ne": [b.rest, b.rest + 1]}[instr.pred[-2:]]  # fmt: skip
    low, high = min(a.lane_offsets), max(a.lane_offsets)
    # Lanes are split by a bound if lane 0 is in [bound - high, bound - low).
    splits = any(_holds_value_of(a, bound - high, bound - low) for bound in bounds)
    return VARYING if splits else shapes.uniform_shape()


def _holds_value_of(shape: LaneShape, first: int, end: int) -> bool:
    """Returns whether lane 0's value may lie in [first, end)."""
    if shape.modulus == 0:
        return first <= shape.rest < end
    return (shape.rest - first) % shape.modulus < end - first


RULES: dict[str, Callable[..., LaneShape]] = {
    "add": _add_rule, "sub": _add_rule, "mul": _mul_rule, "shl": _shl_rule,
    "udiv": _div_rule, "sdiv": _div_rule, "lshr": _div_rule, "ashr": _div_rule,
    "urem": _rem_rule, "srem": _rem_rule, "and": _rem_rule,
    "sext": extend_rule, "zext": extend_rule, "trunc": trunc_rule, "icmp": _icmp_rule,
}  # fmt: skip
