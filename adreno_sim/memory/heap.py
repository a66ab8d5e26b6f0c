"""A heap that other processes may map: the bytes of all blocks of a device are in one sparse memory file."""

from __future__ import annotations

import bisect
import ctypes
import fcntl
import mmap
import os

import numpy as np
from numpy.typing import NDArray

from ..base.alignment import align_up
from .far_mapping import SHARED, map_far

PAGE = mmap.PAGESIZE
_PUNCH_HOLE, _KEEP_SIZE = 2, 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class Heap:
    """`nbytes` of address space in a memory file that can neither shrink nor grow; only pages in use take memory.

    descriptor: of the file. address: where it is mapped in this process.
    """

    def __init__(self, nbytes: int):
        self.nbytes = align_up(nbytes, PAGE)
        self.descriptor = os.memfd_create("adreno-sim-heap", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.nbytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._bytes: NDArray[np.uint8] = map_far(self.descriptor, self.nbytes, SHARED)
        self.address = int(self._bytes.ctypes.data)
        self._starts, self._sizes = [0], [self.nbytes]  # free ranges in order; no two touch

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """Whole pages that hold `nbytes`, zeros. MemoryError if no free range is long enough."""
        needed = align_up(nbytes, PAGE)
        for place, size in enumerate(self._sizes):
            if size >= needed:
                start = self._starts[place]
                if size == needed:
                    del self._starts[place], self._sizes[place]
                else:
                    self._starts[place] += needed
                    self._sizes[place] -= needed
                return self._bytes[start : start + needed]
        raise MemoryError

    def give_back(self, taken: NDArray[np.uint8]) -> None:
        """Return what `take` gave: its pages no longer take memory."""
        start, size = self.place_of(int(taken.ctypes.data)), taken.nbytes
        _punch(self.descriptor, start, size)
        place = bisect.bisect(self._starts, start)
        if place < len(self._starts) and start + size == self._starts[place]:
            size += self._sizes[place]
            del self._starts[place], self._sizes[place]
        if place and self._starts[place - 1] + self._sizes[place - 1] == start:
            self._sizes[place - 1] += size
        else:
            self._starts.insert(place, start)
            self._sizes.insert(place, size)

    def place_of(self, address: int) -> int:
        """The byte of the heap at an address of this process."""
        return address - self.address


def _punch(descriptor: int, start: int, nbytes: int) -> None:
    """Give pages of a file back to the system; they read as zeros then."""
    if _LIBC.fallocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, ctypes.c_int64(start), ctypes.c_int64(nbytes)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
