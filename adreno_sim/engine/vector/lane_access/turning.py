"""Rows, one for each lane, turned into columns in registers: one vector for each element of the rows."""

from __future__ import annotations

from ....ir import ir, llvm_types
from ...llvm.text import Text


def turn(t: Text, type: ir.Vector, rows: list[str]) -> list[str]:
    """Returns the columns of rows that lie one behind the other in vectors of `type`: their numbers are powers of two.

    Each stage takes the elements at even places of two vectors, then those at odd ones: the bits of an element's number, vector
    first, turn right by one.
    """
    spelled, vectors = llvm_types.spell(type), rows
    for _ in range(len(rows).bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = []
        for odd in (0, 1):
            order = ", ".join(f"i32 {2 * at + odd}" for at in range(type.count))
            vectors += [t.op(f"shufflevector {spelled} {a}, {spelled} {b}, <{type.count} x i32> <{order}>") for a, b in pairs]
    return vectors
