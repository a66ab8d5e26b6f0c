"""Memory for machine code, aligned for every type."""

from __future__ import annotations

import numpy as np

from ...ir.provenance import ALIGNED as ALIGNMENT

__all__ = ["ALIGNMENT", "private_memory", "zeroed_aligned"]


def zeroed_aligned(nbytes: int) -> tuple[np.ndarray, int]:
    """Returns zeroed memory of `nbytes` bytes on a 128-byte boundary: the array that owns it, and its address."""
    owner = np.zeros(nbytes + ALIGNMENT, np.uint8)
    address = owner.ctypes.data
    start = -address % ALIGNMENT
    return owner[start : start + nbytes], address + start


def private_memory(nbytes: int, number: int) -> tuple[np.ndarray, int]:
    """Returns the memory of a worker: what owns it, and the address. The worker's `number`, 64 bits, lies ahead of it
    (`runtime/groups.c`)."""
    owner, address = zeroed_aligned(ALIGNMENT + nbytes)
    owner[ALIGNMENT - 8 : ALIGNMENT].view(np.uint64)[0] = number
    return owner, address + ALIGNMENT
