"""Rows, one for each lane, transposed into columns in registers: one vector for each element of the rows."""

from __future__ import annotations

from ....ir import ir, llvm_types
from ...llvm import vector_text as vt
from ...llvm.text import Text

_BLOCK = 16
"""Bytes within which every processor with vectors interleaves elements of two in one instruction, and which one moves whole."""


def transpose(t: Text, type: ir.Vector, rows: list[str]) -> list[str]:
    """Returns the columns of as many rows as vectors of `type` have elements.

    First the elements of each block are transposed, for as many rows as a block has elements; then the blocks.
    """
    count = type.count
    within = min(count, _BLOCK // llvm_types.size_of(type.elem))
    blocks = count // within
    transposed = [_transpose_within(t, type, rows[first : first + within], within) for first in range(0, count, within)]
    columns = [""] * count
    for at in range(within):
        for block, column in enumerate(_transpose_blocks(t, type, [group[at] for group in transposed], count // blocks)):
            columns[block * within + at] = column
    return columns


def _transpose_within(t: Text, type: ir.Vector, rows: list[str], within: int) -> list[str]:
    """Turns rows of `within` elements in each block: each stage interleaves a row of the first half with one of the second, as
    cards are shuffled."""
    starts, half = range(0, type.count, within), within // 2
    vectors = rows
    for _ in range(half.bit_length()):
        pairs = list(zip(vectors[:half], vectors[half:], strict=True))
        orders = [[place + start + first for start in starts for place in _interleaved(half, type.count)] for first in (0, half)]
        vectors = [vt.shuffle(t, llvm_types.spell(type), pair[0], order, pair[1]) for pair in pairs for order in orders]
    return vectors


def _interleaved(half: int, count: int) -> list[int]:
    return [place for at in range(half) for place in (at, count + at)]


def _transpose_blocks(t: Text, type: ir.Vector, rows: list[str], size: int) -> list[str]:
    """Turns rows of blocks of `size` elements: each stage takes the blocks at even places of two vectors, then those at odd ones.
    The bits of a block's number, vector first, turn right by one."""
    vectors = rows
    for _ in range(len(rows).bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = []
        for odd in (0, 1):
            order = [(2 * at + odd) * size + place for at in range(len(rows)) for place in range(size)]
            vectors += [vt.shuffle(t, llvm_types.spell(type), pair[0], order, pair[1]) for pair in pairs]
    return vectors
