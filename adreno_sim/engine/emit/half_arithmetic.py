"""Half-precision arithmetic: each operation rounds once, to nearest even.

A processor that computes halves does so. On any other an operation is computed in float and rounded to half: for
+ - * / and sqrt that equals the correctly rounded result, since float has more than twice the digits. Instructions and
conversions on halves ignore the processor's flush mode: half denormals are flushed explicitly.
"""

from __future__ import annotations

import struct

from ...ir import ir, llvm_types
from ..llvm import constants, objects, vector_text
from .builtin_registry import emit_intrinsic
from .emitter import Emitter

_FLOAT = ir.Float(32)
_WORD = ir.Int(16)

MOST_WHOLE = 1 << 11
"""Up to this magnitude, every whole number is a half."""


def is_half(type: ir.Type) -> bool:
    elem = llvm_types.elem_of(type)
    return isinstance(elem, ir.Float) and elem.bits == 16


def _flush(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns `value` with denormal halves replaced by zeros of the same sign."""
    if value in e.halves.spread:
        return _flush_and_spread(e, type, *e.halves.spread[value])
    half, words = llvm_types.spell(type), llvm_types.with_elem(type, _WORD)
    spelled, flags = llvm_types.spell(words), llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    pattern = e.body.op(f"bitcast {half} {value} to {spelled}")
    exponent = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x7C00))}")
    tiny = e.body.op(f"icmp eq {spelled} {exponent}, {constants.splat(words, '0')}")
    if isinstance(type, ir.Vector) and computes_halves() and not e.unit.has_doubles:  # one masked instruction
        e.unit.multiplies_to_flush = True
        zero = e.body.op(f"fmul {half} {value}, {constants.number(type, 0.0)}")
        return e.body.op(f"select {flags} {tiny}, {half} {zero}, {half} {value}")
    sign = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x8000))}")
    chosen = e.body.op(f"select {flags} {tiny}, {spelled} {sign}, {spelled} {pattern}")
    return e.body.op(f"bitcast {spelled} {chosen} to {half}")


def _flush_and_spread(e: Emitter, type: ir.Type, source: str, own: ir.Type, at: int) -> str:
    """Returns element `at` of a half or vector of halves in every lane, flushed before it is spread."""
    flushed, elem = _flush(e, own, source), llvm_types.elem_of(type)
    if isinstance(own, ir.Vector):
        flushed = e.body.op(f"extractelement {llvm_types.spell(own)} {flushed}, i32 {at}")
    return vector_text.splat(e.body, elem, flushed, llvm_types.lanes_of(type))


def computes_halves() -> bool:
    """Returns whether this processor has arithmetic of halves."""
    return objects.machine().processor.computes_halves


def emit_operation(e: Emitter, op: str, type: ir.Type, *operands: str) -> str:
    """Emits fadd, fsub, fmul, fdiv or the intrinsic sqrt on halves, and fma where the processor computes them; returns the
    result."""
    if computes_halves():
        values, computed = [_flushed(e, type, value) for value in operands], type
    else:
        values, computed = [widen(e, type, value) for value in operands], llvm_types.with_elem(type, _FLOAT)
    if op in ("sqrt", "fma"):
        result = emit_intrinsic(e, op, computed, *values)
    else:
        result = e.body.op(f"{op} {llvm_types.spell(computed)} {', '.join(values)}")
    result = result if computed is type else truncate(e, type, result)
    if op == "fmul" and not e.halves.whole.keys().isdisjoint(operands):  # zero, or no smaller than the other factor
        e.halves.flushed.add(result)
        return result
    return _settled(e, type, result)


def emit_comparison(e: Emitter, predicate: str, type: ir.Type, left: str, right: str, flush: bool = True) -> str:
    """Emits an fcmp on halves; returns its flags. flush: denormals compare as zeros if the launch flushes them."""
    operands, compared = (left, right), type
    if not computes_halves():
        convert, compared = widen if flush else extend, llvm_types.with_elem(type, _FLOAT)
        operands = convert(e, type, left), convert(e, type, right)
    elif flush:
        operands = _flushed(e, type, left), _flushed(e, type, right)
    return e.body.op(f"fcmp {predicate} {llvm_types.spell(compared)} {', '.join(operands)}")


def _flushed(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns an arithmetic operand, flushed if the launch flushes denormals."""
    if not e.unit.spec.flush_denormals or value in e.halves.flushed or value in e.halves.whole:
        return value
    result = _flush(e, type, value)
    e.halves.flushed.add(result)
    return result


def _settled(e: Emitter, type: ir.Type, result: str) -> str:
    """Returns a result of arithmetic, flushed if the launch flushes denormals."""
    if e.unit.spec.flush_denormals:
        result = _flush(e, type, result)
        e.halves.flushed.add(result)
    return result


def keep_whole(e: Emitter, value: str, wide: str, most: int) -> None:
    """Notes that half `value`, float `wide`, is a whole number of at most this magnitude: arithmetic takes the float."""
    if most <= MOST_WHOLE:
        e.halves.whole[value] = wide, most


def half_operand(e: Emitter, value: ir.Value) -> str:
    """Returns the operand of a half value, for arithmetic."""
    operand = e.value(value)
    keep_normal(e, value, operand)
    return operand


def keep_normal(e: Emitter, value: ir.Value, *operands: str) -> None:
    """Notes that `operands`, parts of half `value`, need no flush if it can hold no denormal."""
    if e.unit.spec.flush_denormals and e.unit.normal_halves(e.function).holds(value):
        e.halves.flushed.update(operands)


def keep_whole_constant(e: Emitter, operand: ir.Value) -> None:
    """Notes a constant that is one whole number in every lane."""
    lanes = operand.value if isinstance(operand, ir.Const) and isinstance(operand.value, tuple) else (operand,)
    patterns = {lane.value if isinstance(lane, ir.Const) and isinstance(lane.value, int) else None for lane in lanes}
    pattern = patterns.pop()
    if pattern is None or patterns:
        return
    (number,) = struct.unpack("<e", struct.pack("<H", pattern & 0xFFFF))
    if abs(number) <= MOST_WHOLE and number == int(number) and (number or not pattern):  # not -0, which has a sign to keep
        keep_whole(e, e.value(operand), constants.number(llvm_types.with_elem(operand.type, _FLOAT), number), int(abs(number)))


def emit_exact(e: Emitter, op: str, type: ir.Type, left: str, right: str) -> str | None:
    """Emits an operation on whole numbers whose result is a half; returns None for any other."""
    a, b = e.halves.whole.get(left), e.halves.whole.get(right)
    if a is None or b is None or op == "fdiv":
        return None
    most = a[1] * b[1] if op == "fmul" else a[1] + b[1]
    if most > MOST_WHOLE:
        return None
    wide = e.body.op(f"{op} {llvm_types.spell(llvm_types.with_elem(type, _FLOAT))} {a[0]}, {b[0]}")
    if computes_halves():
        result = e.body.op(f"{op} {llvm_types.spell(type)} {left}, {right}")
    else:
        result = truncate(e, type, wide)
    keep_whole(e, result, wide, most)
    return result


def widen(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns an arithmetic operand of half `type` as float, flushed if the launch flushes denormals."""
    if value in e.halves.whole:
        return e.halves.whole[value][0]
    return extend(e, type, _flushed(e, type, value))


def narrow(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns an arithmetic result in float as half `type`, flushed if the launch flushes denormals."""
    return _settled(e, type, truncate(e, type, value))


def extend(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns a half value as float, exactly and without flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fpext {llvm_types.spell(type)} {value} to {wide}")


def truncate(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns a float value as half `type`, rounded to nearest even, without flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fptrunc {wide} {value} to {llvm_types.spell(type)}")
