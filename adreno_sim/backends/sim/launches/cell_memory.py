"""The memory of race cells: as much of it is resident as launches touch."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ....base.errors import UnsupportedError
from ....base.host_memory import available_bytes
from ....engine.run.aligned_memory import zeroed_aligned
from ....engine.run.giving_up import giving_up_when

T = TypeVar("T")

_LARGE = 64 << 20
"""Bytes from which on the host is asked first: what it cannot back kills the process when touched."""
_SPARSE = 1 << 30
"""Bytes from which on memory is taken in small pages for a launch that can touch only a part of it: Linux backs a touched byte of
other large memory with 2 MiB."""
_REACH = 16
"""Cells that a work-item of such a launch is expected to touch at most."""
_RESERVE = 1 << 30
"""Bytes that a launch must leave to the host: half of what the host has when the launch begins, if that is less."""
_NORESERVE = 0x4000  # MAP_NORESERVE, which older versions of module mmap do not name


class CellMemory:
    """Zeroed memory that is kept from launch to launch: what earlier ones left has earlier epochs."""

    def __init__(self) -> None:
        self.address = 0
        self._cells: np.ndarray = np.zeros(0, np.uint8)
        self._mapping: mmap.mmap | None = None
        self._wanted = 0

    def take(self, nbytes: int, cells: int, global_size: Sequence[int]) -> None:
        """Provides `nbytes` for a launch over work-items of this size, whose arguments have so many cells.

        Raises UnsupportedError if the system gives no room.
        """
        self._wanted = nbytes
        if nbytes > self._cells.nbytes:
            self._cells, self.address, self._mapping = np.zeros(0, np.uint8), 0, None
            self._allocate(nbytes, math.prod(global_size) * _REACH < cells)
        elif self._mapping is not None and _is_short(_RESERVE):
            self.clear()

    def clear(self) -> None:
        """Zeroes all of it."""
        if self._mapping is None:
            self._cells.fill(0)
        else:
            self._mapping.madvise(mmap.MADV_DONTNEED)

    def watch(self, run: Callable[[], T]) -> T:
        """Returns what a launch gives. It is stopped before the host has no memory for the cells that it touches: raises
        UnsupportedError then."""
        if self._mapping is None:
            return run()
        stopped: list[bool] = []
        reserve = min(_RESERVE, (available_bytes() or 0) // 2)

        def is_over() -> bool:
            if not stopped and _is_short(reserve):
                stopped.append(True)
            return bool(stopped)

        with giving_up_when(is_over):
            result = run()
        if stopped:
            self.clear()
            raise self._lack(available_bytes())
        return result

    def _allocate(self, nbytes: int, sparse: bool) -> None:
        left = available_bytes() if nbytes > _LARGE else None
        try:
            if (sparse and nbytes >= _SPARSE) or (left is not None and nbytes >= left // 2):
                self._map(nbytes)
            else:
                self._cells, self.address = zeroed_aligned(nbytes)
        except (MemoryError, OSError, OverflowError):
            raise self._lack(None) from None

    def _map(self, nbytes: int) -> None:
        """Maps pages that the system backs when they are touched, one by one."""
        self._mapping = mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        self._mapping.madvise(mmap.MADV_NOHUGEPAGE)
        self._cells = np.frombuffer(self._mapping, np.uint8)
        self.address = self._cells.ctypes.data

    def _lack(self, left: int | None) -> UnsupportedError:
        what = f"level full needs up to {self._wanted} bytes to watch the buffers of this launch for races"
        return UnsupportedError(f"unsupported: {what}, the host has {'no more' if left is None else left}; see --checks")


def _is_short(reserve: int) -> bool:
    left = available_bytes()
    return left is not None and left < reserve
