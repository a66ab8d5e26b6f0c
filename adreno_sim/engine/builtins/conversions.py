"""Conversions between numbers: the IR's casts, and convert_T with its rounding and saturation suffixes."""

from __future__ import annotations

import re

from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
from ..emit.builtin_registry import EMITTERS, builtin, builtin_family, emit_intrinsic, intrinsic_suffix, is_signed
from ..emit.emitter import Emitter, instruction
from ..emit.half_arithmetic import extend, is_half, keep_whole, truncate
from ..emit.undefined_behaviour import emit_conversion_check
from ..llvm import constants
from .arith import splat_int
from .floats import round_to_odd

_FLOAT, _DOUBLE = ir.Float(32), ir.Float(64)
_CONVERT = re.compile(r"convert_(?P<type>[a-z]+?)(?P<count>\d*)(?P<sat>_sat)?(?P<mode>_rt[ezpn])?")
_ROUND = {"_rte": "roundeven", "_rtz": "trunc", "_rtp": "ceil", "_rtn": "floor"}


@instruction("fpext", "fptrunc")
def _resize(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, resize_float(e, instr.operands[0].type, instr.type, e.value(instr.operands[0]), ""))


@instruction("fptoui", "fptosi")
def _to_int(e: Emitter, instr: ir.Instr) -> None:
    source = instr.operands[0]
    emit_conversion_check(e, source.type, instr.type, e.value(source), instr.op == "fptosi")
    e.define(instr, emit_to_int(e, source.type, instr.type, e.value(source), instr.op == "fptosi"))


@instruction("uitofp", "sitofp")
def _from_int(e: Emitter, instr: ir.Instr) -> None:
    source = instr.operands[0]
    e.define(instr, _emit_number(e, instr, e.value(source), instr.op == "sitofp", ""))


def _emit_number(e: Emitter, instr: ir.Instr, value: str, is_signed: bool, mode: str) -> str:
    """Converts the integer operand of an instruction to float; one that is known to be small is exact as half."""
    source, target = instr.operands[0].type, instr.type
    known = _find_range(e, instr) if is_half(target) else None
    if known is None or not (is_signed or known[0] >= 0):
        return emit_from_int(e, source, target, value, is_signed, mode)
    through = llvm_types.with_elem(target, _FLOAT)
    wide = emit_from_int(e, source, through, value, is_signed, mode)
    result = resize_float(e, through, target, wide, mode)
    keep_whole(e, result, wide, max(-known[0], known[1]))
    return result


def _find_range(e: Emitter, instr: ir.Instr) -> tuple[int, int] | None:
    """The range of the integer that an instruction converts, or of the vector that holds it as a component; None = not known."""
    whole = e.current
    if whole is None or whole.op != instr.op or whole.callee is not instr.callee:
        return None
    source = whole.operands[0]
    return e.interval_of(source) if isinstance(source.type, ir.Int) else None


def emit_to_int(e: Emitter, source: ir.Type, target: ir.Type, value: str, is_signed: bool) -> str:
    """Converts float to integer toward zero. Values out of range yield the nearest limit, NaN yields 0."""
    if is_half(source):
        value, source = extend(e, source, value), llvm_types.with_elem(source, _FLOAT)
    spelled, wide = llvm_types.spell(target), llvm_types.spell(source)
    name = f"llvm.fpto{'s' if is_signed else 'u'}i.sat.{intrinsic_suffix(target)}.{intrinsic_suffix(source)}"
    return e.body.op(f"call {e.unit.declare(name, spelled, wide)}({wide} {value})")


def emit_from_int(e: Emitter, source: ir.Type, target: ir.Type, value: str, is_signed: bool, mode: str) -> str:
    """Converts integer to float, rounded by `mode` ("" and "_rte": to nearest even)."""
    word = "sitofp" if is_signed else "uitofp"
    if is_half(target):  # through float: exact below 2^24, and beyond that every half is infinite or the largest
        through = llvm_types.with_elem(target, _FLOAT)
        wide = emit_from_int(e, source, through, value, is_signed, mode)
        return resize_float(e, through, target, wide, mode)
    result = e.body.op(f"{word} {llvm_types.spell(source)} {value} to {llvm_types.spell(target)}")
    if mode in ("", "_rte") or elem_bits(source) <= {32: 24, 64: 53}[elem_bits(target)]:
        return result
    return _directed_from_int(e, source, target, value, result, is_signed, mode)


def _directed_from_int(e: Emitter, source: ir.Type, target: ir.Type, value: str, near: str, is_signed: bool, mode: str) -> str:
    """Moves the nearest float one step if it is on the wrong side of the integer."""
    t, sign = e.body, ("s" if is_signed else "u")
    back = emit_to_int(e, target, source, near, is_signed)
    spelled, flags = llvm_types.spell(source), llvm_types.spell(llvm_types.with_elem(source, ir.Int(1)))
    # A float beyond the integer's range saturates on the way back: it is above every integer.
    top = constants.number(target, float(1 << (elem_bits(source) - (1 if is_signed else 0))))
    beyond = t.op(f"fcmp oge {llvm_types.spell(target)} {near}, {top}")
    above = t.op(f"or {flags} {beyond}, {t.op(f'icmp {sign}gt {spelled} {back}, {value}')}")
    below = t.op(f"icmp {sign}lt {spelled} {back}, {value}")
    return _step_to_mode(e, target, near, above, below, mode)


def _step_to_mode(e: Emitter, type: ir.Type, near: str, above: str, below: str, mode: str) -> str:
    """Returns `near`, moved to the next float of `type` in the direction of `mode` if it is above or below the exact value."""
    t = e.body
    words = llvm_types.with_elem(type, ir.Int(elem_bits(type)))
    spelled, flags = llvm_types.spell(words), llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    pattern = t.op(f"bitcast {llvm_types.spell(type)} {near} to {spelled}")
    negative = t.op(f"icmp slt {spelled} {pattern}, {splat_int(words, 0)}")
    positive = t.op(f"xor {flags} {negative}, {constants.splat(llvm_types.with_elem(type, ir.Int(1)), 'true')}")
    down_wanted = {"_rtn": above, "_rtp": None, "_rtz": t.op(f"and {flags} {above}, {positive}")}[mode]
    up_wanted = {"_rtp": below, "_rtn": None, "_rtz": t.op(f"and {flags} {below}, {negative}")}[mode]
    one, minus = splat_int(words, 1), splat_int(words, -1)
    result = pattern
    if down_wanted is not None:  # down: a larger pattern where negative; +0 becomes the smallest negative
        step = t.op(f"select {flags} {negative}, {spelled} {one}, {spelled} {minus}")
        moved = t.op(f"add {spelled} {pattern}, {step}")
        zero = t.op(f"icmp eq {spelled} {pattern}, {splat_int(words, 0)}")
        moved = t.op(f"select {flags} {zero}, {spelled} {splat_int(words, (1 << (elem_bits(type) - 1)) + 1)}, {spelled} {moved}")
        result = t.op(f"select {flags} {down_wanted}, {spelled} {moved}, {spelled} {result}")
    if up_wanted is not None:
        step = t.op(f"select {flags} {negative}, {spelled} {minus}, {spelled} {one}")
        moved = t.op(f"add {spelled} {pattern}, {step}")
        zero = t.op(f"icmp eq {spelled} {pattern}, {splat_int(words, 1 << (elem_bits(type) - 1))}")
        moved = t.op(f"select {flags} {zero}, {spelled} {one}, {spelled} {moved}")
        result = t.op(f"select {flags} {up_wanted}, {spelled} {moved}, {spelled} {result}")
    return t.op(f"bitcast {spelled} {result} to {llvm_types.spell(type)}")


def resize_float(e: Emitter, source: ir.Type, target: ir.Type, value: str, mode: str) -> str:
    """Converts float to float of another width, rounded by `mode` if digits are lost."""
    t = e.body
    if elem_bits(source) == elem_bits(target):
        return value
    if is_half(source):
        wide = extend(e, source, value)
        through = llvm_types.with_elem(source, _FLOAT)
        return wide if elem_bits(target) == 32 else resize_float(e, through, target, wide, mode)
    if elem_bits(target) > elem_bits(source):
        return t.op(f"fpext {llvm_types.spell(source)} {value} to {llvm_types.spell(target)}")
    if is_half(target):
        if elem_bits(source) == 64:
            value, source = round_to_odd(e, source, value), llvm_types.with_elem(source, _FLOAT)
        near = truncate(e, target, value)
    else:
        near = t.op(f"fptrunc {llvm_types.spell(source)} {value} to {llvm_types.spell(target)}")
    if mode in ("", "_rte"):
        return near
    back = resize_float(e, target, source, near, "")
    above = t.op(f"fcmp ogt {llvm_types.spell(source)} {back}, {value}")
    below = t.op(f"fcmp olt {llvm_types.spell(source)} {back}, {value}")
    return _step_to_mode(e, target, near, above, below, mode)


@builtin_family(r"convert_(u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)?(_sat)?(_rt[ezpn])?")
def _convert(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    match = _CONVERT.fullmatch(instr.callee.name)
    assert match is not None
    source, mode = instr.operands[0], match["mode"] or ""
    to_signed, value = not match["type"].startswith("u"), e.value(source)
    from_float, to_float = (isinstance(llvm_types.elem_of(t), ir.Float) for t in (source.type, instr.type))
    if from_float and to_float:
        result = resize_float(e, source.type, instr.type, value, mode)
    elif to_float:
        result = _emit_number(e, instr, value, is_signed(instr), mode)
    elif from_float:
        result = _rounded_to_int(e, source.type, instr.type, value, to_signed, mode, bool(match["sat"]))
    else:
        result = _int_to_int(e, source.type, instr.type, value, is_signed(instr), to_signed, bool(match["sat"]))
    e.define(instr, result)


def _rounded_to_int(e: Emitter, source: ir.Type, target: ir.Type, value: str, to_signed: bool, mode: str, saturate: bool) -> str:
    if is_half(source):
        value, source = extend(e, source, value), llvm_types.with_elem(source, _FLOAT)
    if mode not in ("", "_rtz"):
        value = emit_intrinsic(e, _ROUND[mode], source, value)
    if not saturate:
        emit_conversion_check(e, source, target, value, to_signed)
    return emit_to_int(e, source, target, value, to_signed)


def _int_to_int(
    e: Emitter, source: ir.Type, target: ir.Type, value: str, from_signed: bool, to_signed: bool, saturate: bool
) -> str:
    t = e.body
    here, there = elem_bits(source), elem_bits(target)
    if saturate:
        value = _saturate(e, source, value, from_signed, there, to_signed)
    if here == there:
        return value
    word = "trunc" if there < here else ("sext" if from_signed else "zext")
    return t.op(f"{word} {llvm_types.spell(source)} {value} to {llvm_types.spell(target)}")


def _saturate(e: Emitter, source: ir.Type, value: str, from_signed: bool, bits: int, to_signed: bool) -> str:
    """Clamps `value` to the range of both its type and the target."""
    own = elem_bits(source)
    low = -(1 << (bits - 1)) if to_signed else 0
    high = (1 << (bits - (1 if to_signed else 0))) - 1
    own_low = -(1 << (own - 1)) if from_signed else 0
    own_high = (1 << (own - (1 if from_signed else 0))) - 1
    sign = "s" if from_signed else "u"
    if low > own_low:
        value = emit_intrinsic(e, f"{sign}max", source, value, splat_int(source, low))
    if high < own_high:
        value = emit_intrinsic(e, f"{sign}min", source, value, splat_int(source, high))
    return value


@builtin_family(r"as_(u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)?")
def _as(e: Emitter, instr: ir.Instr) -> None:
    """Reinterprets the bits. Between 3 and 4 lanes only the first three are defined."""
    source = instr.operands[0]
    value, spelled, type = e.value(source), llvm_types.spell(source.type), source.type
    if llvm_types.lanes_of(type) == 3 != llvm_types.lanes_of(instr.type) and isinstance(type, ir.Vector):
        type, spelled, value = _regrouped(e, type, spelled, value, 4)
    if llvm_types.lanes_of(instr.type) == 3 and llvm_types.lanes_of(type) != 3:
        assert isinstance(instr.type, ir.Vector)
        wide = ir.Vector(instr.type.elem, 4)
        value = e.body.op(f"bitcast {spelled} {value} to {llvm_types.spell(wide)}")
        _, _, value = _regrouped(e, wide, llvm_types.spell(wide), value, 3)
        e.define(instr, value)
        return
    e.define(instr, value if type == instr.type else e.body.op(f"bitcast {spelled} {value} to {llvm_types.spell(instr.type)}"))


def _regrouped(e: Emitter, type: ir.Vector, spelled: str, value: str, count: int) -> tuple[ir.Vector, str, str]:
    mask = ", ".join(f"i32 {lane if lane < type.count else 0}" for lane in range(count))
    result = e.body.op(f"shufflevector {spelled} {value}, {spelled} zeroinitializer, <{count} x i32> <{mask}>")
    wide = ir.Vector(type.elem, count)
    return wide, llvm_types.spell(wide), result


@builtin("__translate_sampler_initializer")
def _sampler(e: Emitter, instr: ir.Instr) -> None:
    """A sampler is known at compile time: the image functions read the constant themselves."""


assert "__translate_sampler_initializer" in EMITTERS
