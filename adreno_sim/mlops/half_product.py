"""Sums of products in halves, each product and each sum rounded, as machine code."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(inline="always")
def _half(x: np.float32) -> np.float32:
    """x rounded to the nearest half, ties to even."""
    size = abs(x)
    if size < np.float32(2.0**-14):  # multiples of 2^-24: those of a float of that size
        shift = np.float32(0.75)
        return np.float32(np.float32(x + shift) - shift)
    if size >= np.float32(65520.0):
        return np.float32(np.inf) if x > 0 else np.float32(-np.inf)
    scaled = np.float32(x * np.float32(8193.0))  # 2^13 + 1: what is left of the split has 11 bits
    return np.float32(scaled - np.float32(scaled - x))


@numba.njit(cache=False)
def half_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product of a (M, K) and b (K, N), summed in the order of K."""
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    out = np.zeros((rows, columns), np.float32)
    for i in range(rows):
        for k in range(inner):
            factor = a[i, k]
            for j in range(columns):
                out[i, j] = _half(np.float32(out[i, j] + _half(np.float32(factor * b[k, j]))))
    return out
