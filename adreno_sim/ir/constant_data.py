"""The bytes of program-scope variables, as their initialisers give them."""

from __future__ import annotations

from ..base.errors import UnsupportedError
from . import ir, llvm_types


def data_bytes(const: ir.Const | None, type: ir.Type) -> bytes:
    """Returns the bytes in memory of a program-scope initialiser; undefined parts are zero."""
    if const is None or const.value is None or const.value is ir.UNDEF:
        return bytes(llvm_types.size_of(type))
    value = const.value
    if isinstance(value, int):
        size = llvm_types.size_of(type)
        return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    if not isinstance(value, tuple):
        raise UnsupportedError("unsupported: a program-scope variable that holds an address")
    out = bytearray(llvm_types.size_of(type))
    for index, item in enumerate(value):
        at = llvm_types.field_offset(type, index) if isinstance(type, ir.Struct) else index * llvm_types.size_of(item.type)
        piece = data_bytes(item, item.type)
        out[at : at + len(piece)] = piece
    return bytes(out)
