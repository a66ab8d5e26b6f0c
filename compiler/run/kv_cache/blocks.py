"""Sequences of a paged KV cache as chains of blocks, and blocks as lists of pages.

A block holds consecutive positions of a sequence. Sequences with a common beginning share its blocks, which are then full pages
that nobody appends to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ....records import dataclass

TEMPORARY = -1
"""A page that is not there yet: it is taken from what the window of the sequence leaves."""


@dataclass(eq=False)
class CacheBlock:
    """pages: in order; all but the last are full. length: positions in it; start: position of the first in its sequence.

    sink: positions at its beginning that the window never leaves. offset: where in its pages those after the sink begin.
    holders: sequences and blocks that go on from here.
    """

    pages: list[int] = field(default_factory=list)
    length: int = 0
    start: int = 0
    sink: int = 0
    offset: int = 0
    parent: CacheBlock | None = None
    holders: int = 0

    def index_of(self, position: int) -> int:
        """Where in the block's pages one of its positions lies."""
        return position if position < self.sink else position - self.sink + self.offset

    def last_page_length(self, length: int, page_size: int) -> int:
        """How much of the last page is used. length: of all blocks whose pages are taken together with this one's."""
        if length == 0:
            return 0
        used = length - self.sink + self.offset - 1
        return (used % page_size if used >= 0 else -(-used % page_size)) + 1


@dataclass(eq=False)
class Sequence:
    """last: its last block; length: positions in all of them.

    window: positions that it keeps, None for all of them; last_sink: of those, how many at the beginning of the last block stay.
    """

    last: CacheBlock
    length: int = 0
    window: int | None = None
    last_sink: int = 0

    def trace(self) -> list[CacheBlock]:
        """Its blocks from the first to the last."""
        return [*_ancestors(self.last)][::-1]


def _ancestors(block: CacheBlock | None) -> Iterator[CacheBlock]:
    while block is not None:
        yield block
        block = block.parent
