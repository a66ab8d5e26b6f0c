"""The page table of a paged KV cache: sequences are added, forked, shortened and removed as TVM's runtime does it.

Pages are taken from and given back to one stack, in TVM's order, so that page numbers are those of TVM.
"""

from __future__ import annotations

from collections.abc import Callable

from ....base.errors import AdrenoSimError
from .blocks import TEMPORARY, CacheBlock, Sequence


class UndefinedStateError(AdrenoSimError):
    """A call after which TVM's runtime accesses its own tables out of bounds."""


CopyPage = Callable[[int, int, int], None]
"""Copies the first positions of a page: source, target, how many."""


class PageTable:
    """pages: how many there are. sliding: whether sequences may have windows. copy_page: called where a fork splits a page."""

    def __init__(self, page_size: int, pages: int, sliding: bool = False, copy_page: CopyPage = lambda *_: None):
        self.page_size, self.pages, self.sliding = page_size, pages, sliding
        self._copy_page = copy_page
        self.sequences: dict[int, Sequence] = {}
        self.free: list[int] = []
        self.clear()

    def clear(self) -> None:
        """Forget every sequence."""
        self.sequences.clear()
        self.free = [*range(self.pages)][::-1]

    def sequence(self, number: int) -> Sequence:
        """The sequence of this number. AdrenoSimError if there is none."""
        if number not in self.sequences:
            known = ", ".join(map(str, sorted(self.sequences))) or "none"
            raise AdrenoSimError(f"KV cache: no sequence {number}; there are: {known}")
        return self.sequences[number]

    def add(self, number: int) -> None:
        """A new, empty sequence."""
        self._require_new(number)
        self.sequences[number] = Sequence(CacheBlock(holders=1))

    def remove(self, number: int) -> None:
        """Drop a sequence, and the blocks that nothing else holds."""
        block: CacheBlock | None = self.sequence(number).last
        while block is not None and block.holders == 1:
            self.free += block.pages
            block = block.parent
        if block is not None:
            block.holders -= 1
        del self.sequences[number]

    def fork(self, parent: int, child: int, position: int = -1) -> None:
        """A sequence that begins with the positions of another before `position` (-1 = all)."""
        source = self.sequence(parent)
        self._require_new(child)
        if not -1 <= position <= source.length:
            raise AdrenoSimError(
                f"KV cache: sequence {parent} cannot be forked at {position}: expected -1, or at most its length {source.length}"
            )
        if position == -1:
            position = source.length
        if source.window is not None:
            sink = source.length - source.last.length + source.last_sink
            if position > sink:
                raise AdrenoSimError(
                    f"KV cache: sequence {parent} has a sliding window, so that it can be forked within its sink of {sink} "
                    f"positions only, not at {position}"
                )
        self.sequences[child] = self._fork(source, position)

    def _fork(self, source: Sequence, position: int) -> Sequence:
        if position == source.length and position % self.page_size == 0 and source.last.length > 0:
            # The parent goes on in a separate block.
            source.last = CacheBlock(start=position, parent=source.last, holders=1)
        block, inside = self._block_at(source, position)
        in_page = inside % self.page_size
        child = CacheBlock(start=position - in_page, length=in_page, holders=1)
        if inside < self.page_size:
            child.parent = block.parent
            if block.parent is not None:
                block.parent.holders += 1
        else:
            child.parent = self._split(source, block, inside - in_page)
        if in_page:
            child.pages.append(self._take_page())
            self._copy_page(block.pages[0], child.pages[0], in_page)
        return Sequence(child, position)

    @staticmethod
    def _block_at(source: Sequence, position: int) -> tuple[CacheBlock, int]:
        """The block of a sequence that `position` falls into, and where in it; the last one for what is behind all."""
        trace = source.trace()
        for block in trace[:-1]:
            if block.length > position:
                return block, position
            position -= block.length
        return trace[-1], position

    def _split(self, source: Sequence, block: CacheBlock, length: int) -> CacheBlock:
        """A new block before `block` with its first pages, which hold `length` positions; the new child shares it."""
        count = length // self.page_size
        common = CacheBlock(block.pages[:count], length, block.start, parent=block.parent, holders=2)
        block.pages = block.pages[count:]
        block.parent = common
        block.start += length
        block.length -= length
        if source.window is not None and block is source.last:
            source.last_sink -= length
        return common

    def pop(self, number: int, count: int) -> None:
        """Drop the last `count` positions of a sequence."""
        sequence = self.sequence(number)
        if not 0 <= count <= sequence.length:
            raise AdrenoSimError(f"KV cache: {count} positions of sequence {number} to pop: it has {sequence.length}")
        while count and sequence.last.holders == 1:
            block = sequence.last
            if count <= block.length:
                self._shorten(block, count)
                sequence.length -= count
                return
            count -= block.length
            sequence.length -= block.length
            self.free += block.pages
            assert block.parent is not None  # the blocks before it hold the rest of the positions
            sequence.last = block.parent
        if count:  # what is left is shared: the sequence becomes a fork of itself
            shorter = self._fork_checked(number, sequence.length - count)
            self.remove(number)
            self.sequences[number] = shorter

    def _fork_checked(self, number: int, position: int) -> Sequence:
        own = -1 - number
        self.fork(number, own, position)
        return self.sequences.pop(own)

    def _shorten(self, block: CacheBlock, count: int) -> None:
        needed = -(-(block.length - count) // self.page_size)
        while len(block.pages) > needed:
            self.free.append(block.pages.pop())
        block.length -= count

    def enable_window(self, number: int, window: int, sink: int) -> None:
        """From now on a sequence keeps its first `sink` positions and the last ones, `window` in all."""
        if not self.sliding:
            raise AdrenoSimError("KV cache: it was created without sliding windows (support_sliding_window)")
        sequence = self.sequence(number)
        if not 0 <= sink < window:
            raise AdrenoSimError(f"KV cache: sliding window of {window} with a sink of {sink}: expected 0 <= sink < window")
        if sequence.window is not None:
            raise AdrenoSimError(f"KV cache: sequence {number} has a sliding window already, of {sequence.window}")
        before = sequence.length - sequence.last.length  # other blocks stay anyway
        sequence.last_sink = max(sink - before, 0)
        sequence.window = window

    def reserve(self, number: int, count: int) -> None:
        """Room for `count` more positions in the last block of a sequence, whose length counts them already; slide its window."""
        sequence = self.sequence(number)
        block = sequence.last
        if count <= 0:
            raise AdrenoSimError(f"KV cache: {count} positions to append to sequence {number}: expected at least 1")
        if block.holders != 1:
            raise AdrenoSimError(f"KV cache: the last block of sequence {number} is shared, so that nothing can be appended")
        needed = -(-(block.length - block.sink + block.offset + count) // self.page_size)
        borrows = self.sliding and sequence.window is not None
        for _ in range(len(block.pages), needed):
            block.pages.append(TEMPORARY if borrows and not self.free else self._take_page())
        block.length += count
        if borrows:
            self._slide(number, sequence)
        if self.sliding:
            block.pages = [self._take_page() if page == TEMPORARY else page for page in block.pages]

    def _slide(self, number: int, sequence: Sequence) -> None:
        """Let the window of a sequence go on; whole pages that it leaves are free."""
        assert sequence.window is not None
        left = sequence.length - sequence.window
        if left <= 0:
            return
        block = sequence.last
        if sequence.last_sink > 0 and block.sink == 0:  # it slides for the first time
            block.sink = block.offset = sequence.last_sink
        pinned = -(-block.sink // self.page_size)
        page, inside = divmod(block.offset + left, self.page_size)
        while page > pinned:
            if pinned >= len(block.pages):
                raise UndefinedStateError(
                    f"KV cache: sequence {number}: its window of {sequence.window} positions is to leave {left}, more than its "
                    f"last block of {block.length} can: what it shares, or what was popped, does not slide, and TVM's runtime "
                    "would erase pages that are not there"
                )
            gone = block.pages.pop(pinned)
            if gone != TEMPORARY:
                self.free.append(gone)
            page -= 1
        sequence.length = sequence.window
        block.length -= left
        block.offset = page * self.page_size + inside
        used = block.offset + block.length - block.sink
        if block.length < block.sink or block.offset < block.sink or -(-used // self.page_size) != len(block.pages):
            raise AdrenoSimError(
                f"KV cache: sequence {number}: after its window slid, {block.length} positions from {block.offset} on do not fit "
                f"the {len(block.pages)} pages of its last block, as TVM's runtime checks: it was shortened after it had slid"
            )

    def _require_new(self, number: int) -> None:
        if number in self.sequences:
            raise AdrenoSimError(f"KV cache: there is a sequence {number} already")

    def _take_page(self) -> int:
        if not self.free:
            raise AdrenoSimError(f"KV cache: it is full: all {self.pages} pages of {self.page_size} positions are in use")
        return self.free.pop()
