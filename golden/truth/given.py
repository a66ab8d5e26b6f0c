"""What a device may take the tensors for that it is given: where it flushes denormal numbers, those may be zeros."""

from __future__ import annotations

import numpy as np

from .run import Truth
from .units import Units
from .value import FLOATS

_PIECE = 1 << 20
"""Elements that are searched at a time: weights are large."""


def holds_nan(array: np.ndarray) -> bool:
    """Whether a tensor holds NaN: OpenCL leaves open what min and max make of it."""
    return array.dtype.name in FLOATS and bool(np.isnan(array).any())


def holds_flushed(array: np.ndarray, units: Units) -> bool:
    """Whether a tensor holds a number that the device may take for zero."""
    below = units.flushed_below(array.dtype.name)
    if not below:
        return False
    flat = array.reshape(-1)
    return any(bool(_flushed(flat[start : start + _PIECE], below).any()) for start in range(0, flat.size, _PIECE))


def as_device_takes(array: np.ndarray, units: Units) -> Truth:
    """A tensor as a device may take it: a value that it may flush has an error of at most twice itself, so that it may be on
    either side of zero, as which it compares."""
    if not holds_flushed(array, units):
        return Truth(array)
    lost = _flushed(array, units.flushed_below(array.dtype.name))
    exact = array.astype(np.float64)
    return Truth(array, np.where(lost, np.abs(exact) / 4, 0.0), np.where(lost, 0.0, exact))


def _flushed(array: np.ndarray, below: float) -> np.ndarray:
    if array.dtype.itemsize == 4:
        bits = array.view(np.uint32) & np.uint32(0x7FFFFFFF)
        return bits - np.uint32(1) < np.uint32(
            0x7FFFFF
        )  # faster than floats, which processors treat apart where they are denormal
    return (array != 0) & (np.abs(array) < array.dtype.type(below))
