"""Maps files far from everything else: machine code is loaded between the libraries, and its sections must lie within 2 GiB of
each other, which a large mapping in between would prevent."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
from numpy.typing import NDArray

_FAR = 1 << 44
"""Address at which the system is asked to begin to look: far below libraries and stacks, far above programs."""
SHARED = _FAR + (1 << 40)
"""The same for memory that the driver's clients map at the same place: above what sanitizers keep for themselves there."""
_NORESERVE = 0x4000  # MAP_NORESERVE, which older versions of module mmap do not name
_FAILED = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1


def map_far(descriptor: int, nbytes: int, at: int = _FAR) -> NDArray[np.uint8]:
    """The first `nbytes` of a file, shared and writable, mapped until the process ends. OSError if that cannot be.

    at: the address at which the system begins to look.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _NORESERVE
    words = (ctypes.c_size_t(nbytes), ctypes.c_int(protection), ctypes.c_int(flags), ctypes.c_int(descriptor), ctypes.c_int64(0))
    address = libc.mmap(ctypes.c_void_p(at), *words)
    if address in (None, _FAILED):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
