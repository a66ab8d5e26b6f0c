"""Bytes that nobody wrote and that the host reads: a warning with their ranges, at a level that knows what was written."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...findings import Finding, Kind
from ...image import texel_array
from ...memory.region import Box
from ...memory.storage import MemoryBlock, StorageView
from ...results.listing.ranges import describe_ranges
from ...results.run_report import HostCall
from ..finding_log import FindingLog
from ..ring import Header


class UnwrittenReads:
    """The records of who wrote the memory of one session."""

    def __init__(self, log: FindingLog):
        self._log = log
        self._writers: weakref.WeakKeyDictionary[MemoryBlock, str] = weakref.WeakKeyDictionary()

    def note_writer(self, kernel: str, views: Sequence[StorageView]) -> None:
        """A launch has run that may write these views."""
        for view in views:
            self._writers[view.block] = kernel

    def copy(self, source: Box, target: Box) -> None:
        """A command copies a box of a memory to another: who wrote the first wrote the second."""
        if source.view is not None and target.view is not None and (kernel := self._writers.get(source.view.block)):
            self._writers[target.view.block] = kernel

    def look(self, header: Header, number: int, box: Box) -> None:
        """The host reads a box of memory `number`."""
        view = box.view
        if view is None or box.marks is None or box.marks.all():
            return
        unwritten = box.marks == 0
        _leave_out_padding(unwritten, box)
        count = int(unwritten.sum())
        if not count:
            return
        kernel = self._writers.get(view.block, "")
        what = "image" if view.layout is not None else "buffer"
        whole = box.nbytes == count
        which = "and nobody wrote any of them" if whole else f"and nobody wrote {count} of them: {_places(unwritten, box)}"
        message = f"the host reads {box.nbytes} bytes of {what} {number}, {which}"
        call = HostCall(header.call, header.thread, header.queue)
        self._log.add(Finding(Kind.UNWRITTEN_READ_BACK, message, kernel), "", lambda: call)


def _places(unwritten: NDArray[np.bool_], box: Box) -> str:
    """Where the bytes lie: by their offset in the memory where they lie side by side, else by rows or layers of the box."""
    assert box.view is not None
    slices, rows, _ = unwritten.shape
    if slices > 1:
        return describe_ranges("layer", _any_of(unwritten.reshape(slices, -1)))
    if rows > 1:
        return describe_ranges("row", _any_of(unwritten.reshape(rows, -1)))
    return describe_ranges("byte", unwritten.reshape(-1), _start_of(box) - (0 if box.view.separate else box.view.offset))


def _any_of(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.logical_or.reduce(rows, axis=1)


def _start_of(box: Box) -> int:
    """The first byte of a box in its block."""
    assert box.view is not None
    return box.bytes.ctypes.data - box.view.block.address


def _leave_out_padding(unwritten: NDArray[np.bool_], box: Box) -> None:
    """Bytes of a buffer behind the rows of an image over it are nobody's to write."""
    view = box.view
    assert view is not None
    if view.layout is not None or unwritten.shape[:2] != (1, 1):
        return
    row, start = unwritten.reshape(-1), _start_of(box)
    for image in view.storage.views:
        if image.layout is None or image.format is None or image.separate:
            continue
        low, high = max(start, image.offset), min(start + row.size, image.offset + image.layout.nbytes)
        if low >= high:
            continue
        is_padding = np.ones(image.layout.nbytes, np.uint8)
        texel_array(is_padding, image.layout, image.format)[...] = 0
        row[low - start : high - start] &= is_padding[low - image.offset : high - image.offset] == 0
