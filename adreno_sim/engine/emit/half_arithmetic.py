"""Half precision by way of float: each operation computes in float and rounds once, to nearest even.

For + - * / and sqrt that equals rounding the exact result (float has more than twice the digits). The conversion
instructions ignore the processor's flush mode, so flushing of half denormals is explicit.
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
    """`value` with denormal halves replaced by zeros of the same sign."""
    half, words = llvm_types.spell(type), llvm_types.with_elem(type, _WORD)
    spelled, flags = llvm_types.spell(words), llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    pattern = e.body.op(f"bitcast {half} {value} to {spelled}")
    exponent = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x7C00))}")
    sign = e.body.op(f"and {spelled} {pattern}, {constants.splat(words, str(0x8000))}")
    tiny = e.body.op(f"icmp eq {spelled} {exponent}, {constants.splat(words, '0')}")
    chosen = e.body.op(f"select {flags} {tiny}, {spelled} {sign}, {spelled} {pattern}")
    return e.body.op(f"bitcast {spelled} {chosen} to {half}")


def widen(e: Emitter, type: ir.Type, value: str) -> str:
    """An arithmetic operand of half `type` as float, flushed if the launch flushes."""
    if e.unit.spec.flush_denormals:
        value = _flush(e, type, value)
    return extend(e, type, value)


def narrow(e: Emitter, type: ir.Type, value: str) -> str:
    """An arithmetic result in float as half `type`, flushed if the launch flushes."""
    result = truncate(e, type, value)
    return _flush(e, type, result) if e.unit.spec.flush_denormals else result


def extend(e: Emitter, type: ir.Type, value: str) -> str:
    """Half to float, exact, no flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fpext {llvm_types.spell(type)} {value} to {wide}")


def truncate(e: Emitter, type: ir.Type, value: str) -> str:
    """Float to half `type`, to nearest even, no flushing."""
    wide = llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    return e.body.op(f"fptrunc {wide} {value} to {llvm_types.spell(type)}")
