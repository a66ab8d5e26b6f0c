"""Memory for machine code, aligned for every type."""

from __future__ import annotations

import numpy as np

from ...ir.provenance import ALIGNED as ALIGNMENT

__all__ = ["ALIGNMENT", "zeroed_aligned"]


def zeroed_aligned(nbytes: int) -> tuple[np.ndarray, int]:
    """Returns zeroed memory of `nbytes` bytes on a 128-byte boundary: the array that owns it, and its address."""
    owner = np.zeros(nbytes + ALIGNMENT, np.uint8)
    address = owner.ctypes.data
    start = -address % ALIGNMENT
    return owner[start : start + nbytes], address + start
