"""Copies of the memory of arguments, so that a launch can run on it again as it was."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ..abi.bound import Bound, BoundBuffer, BoundImage

Range = tuple[int, int]
"""Address and bytes."""


def range_of(arg: Bound) -> Range:
    """Returns where an argument lies; (0, 0) for one without its own memory."""
    return (arg.address, arg.nbytes) if isinstance(arg, (BoundBuffer, BoundImage)) else (0, 0)


def copy_ranges(ranges: Sequence[Range]) -> list[np.ndarray]:
    """Returns the bytes of each range."""
    copies = [np.empty(nbytes, np.uint8) for _, nbytes in ranges]
    for (address, nbytes), copy in zip(ranges, copies, strict=True):
        ctypes.memmove(copy.ctypes.data, address, nbytes)
    return copies


def restore_ranges(ranges: Sequence[Range], copies: Sequence[np.ndarray]) -> None:
    """Writes what `copy_ranges` returned back to where it was."""
    for (address, nbytes), copy in zip(ranges, copies, strict=True):
        ctypes.memmove(address, copy.ctypes.data, nbytes)
