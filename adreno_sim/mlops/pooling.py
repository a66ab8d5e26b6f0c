"""Pooling over windows of rows and columns; an average leaves padding out, as TVM's runtime asks for."""

from __future__ import annotations

import numpy as np

from .arithmetic import Mode, round_to_storage
from .convolution import Window, taps


def pool_max(data: np.ndarray, size: tuple[int, int], window: Window, mode: Mode) -> np.ndarray:
    """The largest value in each window (N, C, rows, columns)."""
    return round_to_storage(taps(data, size, window, fill=-np.inf).max(axis=(2, 3)), mode)


def pool_average(data: np.ndarray, size: tuple[int, int], window: Window, mode: Mode) -> np.ndarray:
    """The mean of each window, over its elements inside the tensor."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = _sum(taps(data, size, window), mode)
    counts = taps(np.ones((1, 1, *data.shape[2:]), np.float64), size, window).sum(axis=(2, 3))
    return round_to_storage(total / np.maximum(counts, 1), mode)


def _sum(seen: np.ndarray, mode: Mode) -> np.ndarray:
    if mode != "float16":
        return np.asarray(seen.sum(axis=(2, 3), dtype=np.float64))
    total = np.zeros((*seen.shape[:2], *seen.shape[4:]), np.float64)
    for i in range(seen.shape[2]):
        for j in range(seen.shape[3]):
            total = round_to_storage(total + seen[:, :, i, j], mode).astype(np.float64)
    return total
