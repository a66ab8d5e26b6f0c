"""Half-precision arithmetic: each operation is computed in float and rounded once, to nearest even.

For + - * / and sqrt the result equals the correctly rounded one, since float has more than twice the digits. Conversion
instructions ignore the processor's flush mode, so half denormals are flushed explicitly.
"""

from __future__ import annotations

from ...ir import ir, llvm_types
from ..llvm import constants
from .emitter import Emitter

_FLOAT = ir.Float(32)
_WORD = ir.Int(16)


def is_half(type: ir.Type) -> bool:
    return llvm_types.elem_of(type) == ir.Float(16)


def _flush(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns `value` with denormal halves replaced by zeros of the same sign."""
    half, words = llvm_types.spell(type), llvm_types.with_elem(type, _WORD)
    spelled, flags = llvm_types.spell(words), llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    pattern = e.body.op(f"bitcast {half} {value} to {spelled}")
    exponent = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x7C00))}")
    sign = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x8000))}")
    tiny = e.body.op(f"icmp eq {spelled} {exponent}, {constants.splat(words, '0')}")
    chosen = e.body.op(f"select {flags} {tiny}, {spelled} {sign}, {spelled} {pattern}")
    return e.body.op(f"bitcast {spelled} {chosen} to {half}")


def widen(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns an arithmetic operand of half `type` as float, flushed if the launch flushes denormals."""
    if e.unit.spec.flush_denormals and value not in e.flushed_halves:
        value = _flush(e, type, value)
    return extend(e, type, value)


def narrow(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns an arithmetic result in float as half `type`, flushed if the launch flushes denormals."""
    result = truncate(e, type, value)
    if e.unit.spec.flush_denormals:
        result = _flush(e, type, result)
        e.flushed_halves.add(result)
    return result


def extend(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns a half value as float, exactly and without flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fpext {llvm_types.spell(type)} {value} to {wide}")


def truncate(e: Emitter, type: ir.Type, value: str) -> str:
    """Returns a float value as half `type`, rounded to nearest even, without flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fptrunc {wide} {value} to {llvm_types.spell(type)}")
