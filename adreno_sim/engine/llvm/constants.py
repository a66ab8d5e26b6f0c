"""Kernel IR constants as LLVM text. Undefined values become zero, so that LLVM cannot draw conclusions from them."""

from __future__ import annotations

import struct

from ...base.errors import UnsupportedError
from ...ir import ir, llvm_types


def float_bits(bits: int, pattern: int) -> str:
    """Returns a float constant from its IEEE bit pattern, NaN payload included."""
    if bits == 16:
        return f"0xH{pattern:04X}"
    if bits == 64:
        return f"0x{pattern:016X}"
    if pattern & 0x7F800000 == 0x7F800000 and pattern & 0x7FFFFF:
        return f"bitcast (i32 {pattern} to float)"
    value = struct.unpack("<f", struct.pack("<I", pattern))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def number(type: ir.Type, value: float) -> str:
    """Returns `value` as a constant of the float, half or double (vector) `type`."""
    elem = llvm_types.elem_of(type)
    if not isinstance(elem, ir.Float):
        raise TypeError(f"expected a float type, got {type}")
    code, word = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[elem.bits]
    return splat(type, float_bits(elem.bits, struct.unpack(word, struct.pack(code, value))[0]))


def splat(type: ir.Type, text: str) -> str:
    """Returns the scalar constant `text` in every lane of `type`."""
    if not isinstance(type, ir.Vector):
        return text
    return f"splat ({llvm_types.spell(type.elem)} {text})"


def text(const: ir.Const) -> str:
    """Returns the constant as an LLVM operand. Pointers are handled elsewhere, because they carry provenance."""
    type, value = const.type, const.value
    if value is ir.UNDEF or value is None:
        return llvm_types.zero(type)
    if isinstance(type, ir.Int) and isinstance(value, int):
        return ("true" if value & 1 else "false") if type.bits == 1 else str(value)
    if isinstance(type, ir.Float) and isinstance(value, int):
        return float_bits(type.bits, value)
    if isinstance(value, tuple):
        items = [f"{llvm_types.spell(v.type)} {text(v)}" for v in value]
        body = ", ".join(items)
        if isinstance(type, ir.Vector):
            return f"splat ({items[0]})" if len(set(items)) == 1 else f"<{body}>"
        if isinstance(type, ir.Array):
            return f"[{body}]"
        return f"<{{{body}}}>" if isinstance(type, ir.Struct) and type.packed else f"{{{body}}}"
    raise UnsupportedError(f"unsupported: a constant of type {type} here")
