"""Operators that move elements: pad, depth to space, and bilinear resizing (which also blends them)."""

from __future__ import annotations

import numpy as np

from .arithmetic import Mode, round_to_storage

PAD_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect"}


def pad(data: np.ndarray, widths: tuple[int, int, int, int], mode: str, value: float = 0.0) -> np.ndarray:
    """widths: (top, bottom, left, right) around rows and columns."""
    around = ((0, 0), (0, 0), widths[:2], widths[2:])
    if mode == "constant":
        return np.pad(data, around, constant_values=data.dtype.type(value))
    return np.pad(data, around, mode=PAD_MODES[mode])  # type: ignore[call-overload]


def depth_to_space(data: np.ndarray, block: int) -> np.ndarray:
    """Channel (i * block + j) * C' + c goes to row offset i and column offset j of channel c."""
    n, c, height, width = data.shape
    split = data.reshape(n, block, block, c // block**2, height, width)
    return np.ascontiguousarray(split.transpose(0, 3, 4, 1, 5, 2)).reshape(n, c // block**2, height * block, width * block)


def resize_bilinear(data: np.ndarray, size: tuple[int, int], align_corners: bool, mode: Mode) -> np.ndarray:
    """Rows and columns to `size`; source coordinate = target * in / out, or * (in - 1) / (out - 1) with aligned corners."""
    wide = data.astype(np.float64)
    for axis, out in zip((2, 3), size, strict=True):
        wide = _along(wide, axis, out, align_corners)
    return round_to_storage(wide, mode)


def _along(data: np.ndarray, axis: int, out: int, align_corners: bool) -> np.ndarray:
    size = data.shape[axis]
    step = (size - 1) / (out - 1) if align_corners and out > 1 else 0.0 if align_corners else size / out
    at = np.minimum(np.arange(out) * step, size - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    along = [1] * data.ndim
    along[axis] = -1
    share = (at - low).reshape(along)
    blended: np.ndarray = np.take(data, low, axis) * (1 - share) + np.take(data, high, axis) * share
    return blended
