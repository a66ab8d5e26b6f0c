"""One forward over several sequences: the arrays that the kernels of a paged KV cache are given, as TVM's runtime makes them."""

from __future__ import annotations

from collections.abc import Sequence as Numbers
from dataclasses import field

import numpy as np

from ....base.errors import AdrenoSimError
from ....records import dataclass
from .blocks import CacheBlock, Sequence
from .table import PageTable, UndefinedStateError

DEPTHS = 2
"""Blocks of a sequence that attention runs over apart; those behind are joined to the last of them."""

COALESCING = 32
"""So many times fewer pages must be read for several decodes to run as one prefill."""


@dataclass(frozen=True)
class Depth:
    """Attention over the blocks at one depth. Row i of `blocks` is what rows queries[i] to queries[i + 1] attend to.

    queries, pages_begin: int32 [rows + 1]. pages: int32, their numbers. lengths: int32 [rows], used of the last page; with
    windows [3, rows]: also the offset of the window and the length of the sink. starts: int32 [rows], the first position.
    decodes: whether the decode kernel runs.
    """

    queries: np.ndarray
    pages_begin: np.ndarray
    pages: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray
    decodes: bool


@dataclass(frozen=True)
class Batch:
    """The arrays of one forward, all int32. begins: [sequences + 1], where the tokens of each begin.

    positions: [tokens], in their sequences. targets: [tokens], where in the pages each is written, -1 = nowhere. starts:
    [sequences], the lengths before. append_first: keys and values are written before attention, which then reads them from pages.
    """

    numbers: tuple[int, ...]
    begins: np.ndarray
    positions: np.ndarray
    targets: np.ndarray
    starts: np.ndarray
    append_first: bool
    depths: tuple[Depth, ...]


def begin_forward(table: PageTable, numbers: Numbers[int], lengths: Numbers[int]) -> Batch:
    """Make room for `lengths` new positions of the sequences `numbers`, and the arrays for their forward.

    Raises AdrenoSimError naming a sequence that is not there, is named twice, or has no room.
    """
    if len(numbers) != len(lengths) or not numbers:
        raise AdrenoSimError(f"KV cache: {len(numbers)} sequences and {len(lengths)} lengths: expected one length for each")
    if len(set(numbers)) != len(numbers):
        raise AdrenoSimError(f"KV cache: a sequence is named twice in one forward: {', '.join(map(str, numbers))}")
    sequences = [table.sequence(number) for number in numbers]
    before = [(sequence.length, sequence.last.length) for sequence in sequences]
    for sequence, length in zip(sequences, lengths, strict=True):
        sequence.length += length
    one_each = all(length == 1 for length in lengths)
    chunks = [_chunks(blocks, lengths, depth, one_each) for depth, blocks in enumerate(_blocks_at_depths(sequences))]
    append_first = not table.sliding and chunks[-1][1]
    if append_first:
        _reserve(table, numbers, lengths)
    depths = tuple(_depth(table, depth, rows, decodes, sequences) for depth, (rows, decodes) in enumerate(chunks))
    if not append_first:
        _reserve(table, numbers, lengths)
    positions = [old + i for (old, _), length in zip(before, lengths, strict=True) for i in range(length)]
    targets = [
        _target(table, number, sequence.last, last_before, length, i)
        for number, sequence, (_, last_before), length in zip(numbers, sequences, before, lengths, strict=True)
        for i in range(length)
    ]
    begins = np.cumsum([0, *lengths])
    starts = _array([old for old, _ in before])
    return Batch(tuple(numbers), _array(begins), _array(positions), _array(targets), starts, append_first, depths)


def _reserve(table: PageTable, numbers: Numbers[int], lengths: Numbers[int]) -> None:
    for number, length in zip(numbers, lengths, strict=True):
        table.reserve(number, length)


def _array(values: object) -> np.ndarray:
    return np.asarray(values, np.int32)


def _blocks_at_depths(sequences: list[Sequence]) -> list[list[CacheBlock | None]]:
    """For each depth the block of each sequence, None if it has fewer."""
    traces = [sequence.trace()[:DEPTHS] for sequence in sequences]
    return [[trace[depth] if depth < len(trace) else None for trace in traces] for depth in range(max(map(len, traces)))]


Row = tuple["CacheBlock | None", int]
"""A block and how many tokens attend to it."""


def _chunks(blocks: list[CacheBlock | None], lengths: Numbers[int], depth: int, one_each: bool) -> tuple[list[Row], bool]:
    """The rows of a depth, and whether the decode kernel runs: neighbours that attend to the same block may become one row."""
    single = [*zip(blocks, lengths, strict=True)]
    joined: list[Row] = []
    for block, length in single:
        if joined and joined[-1][0] is block:
            joined[-1] = block, joined[-1][1] + length
        else:
            joined.append((block, length))
    alone, together = (sum(len(block.pages) for block, _ in rows if block is not None) for rows in (single, joined))
    decodes = one_each and (alone / together if together else 0.0) < COALESCING
    return (single if decodes or depth == DEPTHS - 1 else joined), decodes


@dataclass
class _Rows:
    """Columns of a depth while they are filled."""

    queries: list[int] = field(default_factory=lambda: [0])
    begins: list[int] = field(default_factory=lambda: [0])
    pages: list[int] = field(default_factory=list)
    lengths: list[tuple[int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


def _depth(table: PageTable, depth: int, rows: list[Row], decodes: bool, sequences: list[Sequence]) -> Depth:
    found = _Rows()
    for number, (first, tokens) in enumerate(rows):
        joined = [] if first is None else [first]
        if first is not None and depth == DEPTHS - 1:
            joined += sequences[number].trace()[DEPTHS:]
        found.queries.append(found.queries[-1] + tokens)
        found.pages += [page for block in joined for page in block.pages]
        found.begins.append(len(found.pages))
        found.starts.append(0 if first is None else first.start)
        if not joined:
            found.lengths.append((0, 0, 0))
            continue
        last = joined[-1]
        used = last.last_page_length(sum(block.length for block in joined), table.page_size)
        found.lengths.append((used, last.offset, last.sink))
    lengths = _array(found.lengths).T if table.sliding else _array([used for used, _, _ in found.lengths])
    return Depth(_array(found.queries), _array(found.begins), _array(found.pages), lengths, _array(found.starts), decodes)


def _target(table: PageTable, number: int, block: CacheBlock, last_before: int, length: int, i: int) -> int:
    """Where new token `i` of `length` is written, as a position in all pages. last_before: length of the block before."""
    size = table.page_size
    if last_before + i < block.sink:
        index = last_before + i
    else:
        position = block.length - length + i
        if position < block.sink:
            return -1
        index = block.index_of(position)
    if index // size >= len(block.pages):
        raise UndefinedStateError(
            f"KV cache: sequence {number}: token {i} belongs at page {index // size} of its last block, which has "
            f"{len(block.pages)}: TVM's runtime would read a page number out of bounds there"
        )
    return block.pages[index // size] * size + index % size
