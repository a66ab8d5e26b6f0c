"""Watches what a paged KV cache does with its pages, beside the page table and without its blocks.

Each token gets a number of its own. A history says which tokens a sequence has, in order, and where they should lie; it follows
from the calls and from where tokens were sent. Slots say which token each position of each layer's pages holds; they follow from
what the kernels are given. Where the two do not agree, something is wrong: with the calls, with the arrays, or with the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from ....findings import Finding, Kind
from ....records import dataclass
from .batch import Batch, Depth
from .table import PageTable

NEVER = -1
"""What a slot holds that nothing has written."""


class Sizes(Protocol):
    """What is asked of a cache's configuration."""

    @property
    def page_size(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def layers(self) -> range: ...


@dataclass
class _Window:
    size: int
    sink: int


@dataclass(frozen=True)
class _History:
    """tokens: the numbers of a sequence's tokens; places: where in all pages each lies, -1 = nowhere."""

    tokens: np.ndarray
    places: np.ndarray

    def __getitem__(self, part: slice) -> _History:
        return _History(self.tokens[part], self.places[part])

    def joined(self, other: _History) -> _History:
        return _History(np.concatenate([self.tokens, other.tokens]), np.concatenate([self.places, other.places]))


_EMPTY = _History(np.zeros(0, np.int64), np.zeros(0, np.int64))


class PageWatch:
    """report: called with each finding, which names sequence and page."""

    def __init__(self, sizes: Sizes, table: PageTable, report: Callable[[Finding], None]):
        self._size, self._table, self._report = sizes.page_size, table, report
        self._layers = sizes.layers
        self._slots = np.full((len(sizes.layers), sizes.pages * sizes.page_size), NEVER, np.int64)
        self._tokens = 0
        self._histories: dict[int, _History] = {}
        self._copied: tuple[int, int] | None = None
        self._windows: dict[int, _Window] = {}
        self._batch: Batch | None = None
        self._before: dict[int, _History] = {}
        self._new: dict[int, _History] = {}
        self._appended: set[int] = set()
        self._leaked: set[int] = set()

    def clear(self) -> None:
        self._histories.clear()
        self._windows.clear()
        self._batch = None
        self._find_leaks("clear")

    def add(self, number: int) -> None:
        self._histories[number] = _EMPTY

    def remove(self, number: int) -> None:
        del self._histories[number]
        self._windows.pop(number, None)
        self._find_leaks(f"sequence {number} was removed")

    def fork(self, parent: int, child: int, position: int) -> None:
        history = self._histories[parent]
        self._histories[child] = self._moved(history if position == -1 else history[:position])
        self._find_leaks(f"sequence {parent} was forked")

    def pop(self, number: int, count: int) -> None:
        history = self._histories[number]
        self._histories[number] = self._moved(history[: len(history.tokens) - count])
        if self._table.sequences[number].window is None:  # TVM's runtime forgets it where it makes a fork of what is shared
            self._windows.pop(number, None)
        self._find_leaks(f"sequence {number} was shortened")

    def enable_window(self, number: int, window: int, sink: int) -> None:
        sequence = self._table.sequences[number]
        self._windows[number] = _Window(window, max(sink, sequence.length - sequence.last.length))

    def copy(self, source: int, target: int, length: int) -> None:
        """The beginning of a page was copied."""
        first, second = source * self._size, target * self._size
        self._slots[:, second : second + length] = self._slots[:, first : first + length]

        self._copied = source, target

    def _moved(self, history: _History) -> _History:
        """A history with a page that was just copied: what follows it is in the copy."""
        copied, self._copied = self._copied, None
        if copied is None:
            return history
        source, target = copied
        there = history.places // self._size == source
        return _History(history.tokens, np.where(there, history.places + (target - source) * self._size, history.places))

    def begin(self, batch: Batch) -> None:
        """New tokens for the sequences of a batch; those that leave its window are gone."""
        self._batch, self._appended = batch, set()
        self._before, self._new = {}, {}
        for i, number in enumerate(batch.numbers):
            count = int(batch.begins[i + 1] - batch.begins[i])
            targets = batch.targets[batch.begins[i] : batch.begins[i + 1]].astype(np.int64)
            new = _History(np.arange(self._tokens, self._tokens + count), targets)
            self._tokens += count
            before = self._histories[number]
            self._before[number], self._new[number] = before, new
            history = before.joined(new)
            window = self._windows.get(number)
            length = len(history.tokens)
            if window is not None and length > window.size:
                kept = min(window.sink, window.size)
                history = history[:kept].joined(history[length - (window.size - kept) :])
            self._histories[number] = history
        self._find_leaks("a forward began")

    def end(self) -> None:
        """A forward ended: every layer should have its keys and values."""
        if self._batch is None:
            return
        missing = [layer for i, layer in enumerate(self._layers) if i not in self._appended]
        if missing:
            numbers = ", ".join(map(str, self._batch.numbers))
            self._add(
                Kind.UNINITIALIZED_READ,
                f"the forward of sequences {numbers} ended, and nothing wrote their keys and values of layers "
                f"{', '.join(map(str, missing))}: what reads them later reads what the pages held before",
            )
        self._batch = None

    def read(self, layer: int) -> None:
        """Attention of a layer reads pages: are they those of the sequences, in order, and written?"""
        batch = self._batch
        if batch is None:
            return
        for i, number in enumerate(batch.numbers):
            wanted = self._before[number].tokens
            if batch.append_first:
                wanted = np.concatenate([wanted, self._new[number].tokens])
            places = np.concatenate([np.zeros(0, np.int64), *self._places_read(batch, i)])
            self._judge_read(layer, number, wanted, places)

    def _places_read(self, batch: Batch, index: int) -> Iterable[np.ndarray]:
        """Where in the pages the tokens of a sequence attend to, at each depth."""
        first = int(batch.begins[index])
        for depth in batch.depths:
            row = int(np.searchsorted(depth.queries, first, side="right")) - 1
            yield self._row_places(depth, row)

    def _row_places(self, depth: Depth, row: int) -> np.ndarray:
        pages = depth.pages[depth.pages_begin[row] : depth.pages_begin[row + 1]].astype(np.int64)
        if not len(pages):
            return np.zeros(0, np.int64)
        used, offset, sink = (
            (int(x) for x in depth.lengths[:, row]) if depth.lengths.ndim == 2 else (int(depth.lengths[row]), 0, 0)
        )
        positions = np.arange((len(pages) - 1) * self._size + used - offset + sink)
        where = np.where(positions < sink, positions, positions - sink + offset)
        page = np.minimum(where // self._size, len(pages) - 1)
        return pages[page] * self._size + where - page * self._size

    def _judge_read(self, layer: int, number: int, wanted: np.ndarray, places: np.ndarray) -> None:
        shown = self._layers[layer]
        outside = np.flatnonzero((places < 0) | (places >= self._slots.shape[1]))
        if len(outside):
            page = int(places[outside[0]]) // self._size
            self._add(
                Kind.OUT_OF_BOUNDS_READ,
                f"layer {shown}: position {int(outside[0])} of sequence {number} is read from page {page}, and there are "
                f"{self._table.pages}", number, page,
            )  # fmt: skip
            return
        held = self._slots[layer, places]
        count = min(len(held), len(wanted))
        differ = np.flatnonzero(held[:count] != wanted[:count])
        if len(differ):
            position = int(differ[0])
            page, token = int(places[position]) // self._size, int(held[position])
            where = f"layer {shown}: position {position} of sequence {number} is read from page {page}, "
            if token == NEVER:
                self._add(Kind.UNINITIALIZED_READ, where + "which nothing has written there", number, page)
            else:
                self._add(Kind.STORAGE_REUSED_LIVE, where + f"which holds {self._describe(token)}", number, page)
        elif len(held) != len(wanted):
            page = int(places[-1]) // self._size if len(places) else -1
            self._add(
                Kind.OUT_OF_BOUNDS_READ,
                f"layer {shown}: {len(held)} positions of sequence {number} are read, up to page {page}; it has {len(wanted)}",
                number, page,
            )  # fmt: skip

    def append(self, layer: int) -> None:
        """Keys and values of the new tokens of a layer are written."""
        batch = self._batch
        if batch is None:
            return
        shown, slots = self._layers[layer], self._slots[layer]
        new_ones = np.concatenate([history.tokens for history in self._new.values()])
        needed = np.concatenate([h.places[~np.isin(h.tokens, new_ones)] for h in self._histories.values()])
        for i, number in enumerate(batch.numbers):
            targets = batch.targets[batch.begins[i] : batch.begins[i + 1]].astype(np.int64)
            new = self._new[number].tokens
            kept = np.isin(new, self._histories[number].tokens)
            wrong = np.flatnonzero((targets >= len(slots)) | (targets < NEVER) | (kept & (targets == NEVER)))
            if len(wrong):
                page = int(targets[wrong[0]]) // self._size
                self._add(
                    Kind.OUT_OF_BOUNDS_WRITE,
                    f"layer {shown}: new token {int(wrong[0])} of sequence {number} is written to page {page}, and there are "
                    f"{self._table.pages}", number, page,
                )  # fmt: skip
            inside = (targets >= 0) & (targets < len(slots))
            targets, new = targets[inside], new[inside]
            lost = np.isin(targets, needed)
            if layer in self._appended:
                every = np.ones_like(lost)
                self._add_written(Kind.STORE_OVERWRITTEN, "is written twice in one forward", shown, number, targets, every)
            elif lost.any():
                held = self._describe_place(int(targets[np.flatnonzero(lost)[0]]), new_ones)
                self._add_written(Kind.STORAGE_REUSED_LIVE, f"is written, and holds {held}", shown, number, targets, lost)
            repeated = np.zeros(len(targets), bool)
            repeated[np.unique(targets, return_index=True)[1]] = True
            if not repeated.all():
                self._add_written(
                    Kind.STORE_OVERWRITTEN, "is written by two tokens of one forward", shown, number, targets, ~repeated
                )
            slots[targets] = new
        self._appended.add(layer)

    def _add_written(self, kind: Kind, what: str, layer: int, number: int, targets: np.ndarray, wrong: np.ndarray) -> None:
        if wrong.any():
            place = int(targets[np.flatnonzero(wrong)[0]])
            page = place // self._size
            self._add(
                kind,
                f"layer {layer}: page {page} {what}: its position {place % self._size}, by sequence {number}",
                number,
                page,
            )

    def _describe(self, token: int) -> str:
        """Whose token it is, in words."""
        return self._describe_where(lambda history: history.tokens == token)

    def _describe_place(self, place: int, new: np.ndarray) -> str:
        """Whose token is there, in words; not one of the new ones."""
        return self._describe_where(lambda history: (history.places == place) & ~np.isin(history.tokens, new))

    def _describe_where(self, fits: Callable[[_History], np.ndarray]) -> str:
        for number, history in self._histories.items():
            found = np.flatnonzero(fits(history))
            if len(found):
                return f"position {int(found[0])} of sequence {number}"
        return "a token that no sequence has any more"

    def _find_leaks(self, after: str) -> None:
        """Pages that are neither free nor of a sequence, or of two blocks, or both."""
        owned = {id(block): block for sequence in self._table.sequences.values() for block in sequence.trace()}
        used = [page for block in owned.values() for page in block.pages]
        lost = set(range(self._table.pages)) - set(used) - set(self._table.free) - self._leaked
        if lost:
            self._leaked |= lost
            page = min(lost)
            self._add(
                Kind.PAGE_LEAKED, f"page {page} is of no sequence and not free after {after} ({len(lost)} pages)", page=page
            )
        counts = Counter(used)
        twice = {page for page in used if counts[page] > 1} | (set(used) & set(self._table.free))
        if twice:
            page = min(twice)
            number = next(
                number for number, one in self._table.sequences.items() if any(page in block.pages for block in one.trace())
            )
            self._add(
                Kind.STORAGE_REUSED_LIVE, f"page {page} of sequence {number} is free too, or in two blocks, after {after}",
                number, page,
            )  # fmt: skip

    def _add(self, kind: Kind, message: str, sequence: int | None = None, page: int | None = None) -> None:
        detail: dict[str, object] = {"sequence": sequence, "page": page}
        self._report(Finding(kind, f"KV cache: {message}", tensor="kv_cache", detail=detail))
