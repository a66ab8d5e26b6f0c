"""Undefined values that launches of a program leave in its memory: a finding where its host reads them."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from ...findings import Finding
from ...memory.region import Box
from ...memory.storage import MemoryBlock, StorageView
from ...records import dataclass
from ...results.run_report import HostCall
from ..finding_log import FindingLog

MOST = 100
"""Places of stores that are remembered of a block of memory."""


@dataclass(frozen=True)
class _Left:
    """What a launch stored in the bytes from `low` to `high` of a block. source, call: as of `FindingLog.add`."""

    low: int
    high: int
    finding: Finding
    source: str
    call: Callable[[], HostCall]


class LeftUndefined:
    """The records of undefined values in the memory of one session. The marks say whether they are still there."""

    def __init__(self, log: FindingLog):
        self._log = log
        self._left: weakref.WeakKeyDictionary[MemoryBlock, dict[object, _Left]] = weakref.WeakKeyDictionary()

    def add(self, view: StorageView, finding: Finding, source: str, call: Callable[[], HostCall]) -> None:
        """A launch has stored an undefined value in a view."""
        low = 0 if view.separate else view.offset
        room = view.layout.nbytes if view.layout is not None else view.nbytes
        self._note(view.block, _Left(low, low + room, finding, source, call))

    def copy(self, source: Box, target: Box) -> None:
        """A command copies a box of a memory to another, which then holds what the first does."""
        if target.view is not None and _holds_undefined(source):
            low, high = _range_of(target)
            for left in self._of(source):
                self._note(target.view.block, _Left(low, high, left.finding, left.source, left.call))

    def look(self, box: Box) -> None:
        """The host reads a box of a memory."""
        for left in self._of(box) if _holds_undefined(box) else []:
            self._log.add(left.finding, left.source, left.call)

    def _note(self, block: MemoryBlock, left: _Left) -> None:
        known = self._left.setdefault(block, {})
        key = left.low, left.high, left.finding.kernel, left.finding.line, left.finding.column, left.finding.message
        if key in known or len(known) < MOST:
            known[key] = left

    def _of(self, box: Box) -> list[_Left]:
        if box.view is None:
            return []
        low, high = _range_of(box)
        return [left for left in self._left.get(box.view.block, {}).values() if left.low < high and low < left.high]


def _holds_undefined(box: Box) -> bool:
    return box.marks is not None and bool((box.marks > 1).any())


def _range_of(box: Box) -> tuple[int, int]:
    """Returns the first byte of a box in its block, and the one behind the last."""
    assert box.view is not None
    start = box.bytes.ctypes.data - box.view.block.address
    slices, rows, width = box.bytes.shape
    return start, start + (slices - 1) * box.bytes.strides[0] + (rows - 1) * box.bytes.strides[1] + width
