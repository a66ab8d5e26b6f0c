"""Arithmetic modes of OpenCL ML, and sums of products in them.

float32: tensors and sums are float32. float16: both are half, every product and every sum is rounded, in the order of the
summed index (a device may take another order). float16-acc32: halves are summed in float32 and rounded once. Sums in float32
are computed in double and rounded: the same bits on every machine, and at least as exact as any order of a device's.
"""

from __future__ import annotations

from typing import Literal

import numba
import numpy as np

Mode = Literal["float32", "float16", "float16-acc32"]

MODES: tuple[Mode, ...] = ("float32", "float16", "float16-acc32")


def mode_of(dtype: str, accumulate: str = "") -> Mode:
    """The mode of an operator on `dtype` that sums in `accumulate` ("" = in its own type, as TVM's runtime asks for)."""
    if dtype == "float16":
        return "float16-acc32" if accumulate == "float32" else "float16"
    return "float32"


def storage(mode: Mode) -> type[np.float32] | type[np.float16]:
    """The type that tensors of a mode are stored in."""
    return np.float32 if mode == "float32" else np.float16


def round_to_storage(values: np.ndarray, mode: Mode) -> np.ndarray:
    """`values` as a tensor of the mode stores them; what a half cannot hold becomes infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(storage(mode))


def product(a: np.ndarray, b: np.ndarray, mode: Mode, block: int = 0) -> np.ndarray:
    """The matrix product of a (M, K) and b (K, N), as float32 values that the mode can hold.

    block: columns computed at once, 0 = all; what tuning chooses.
    """
    if 0 < block < b.shape[1]:
        return np.concatenate([product(a, b[:, at : at + block], mode) for at in range(0, b.shape[1], block)], 1)
    if mode == "float16":
        with np.errstate(over="ignore", invalid="ignore"):
            return _half_product(np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        return round_to_storage(a.astype(np.float64) @ b.astype(np.float64), mode).astype(np.float32)


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
def _half_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    out = np.zeros((rows, columns), np.float32)
    for i in range(rows):
        for k in range(inner):
            factor = a[i, k]
            for j in range(columns):
                out[i, j] = _half(np.float32(out[i, j] + _half(np.float32(factor * b[k, j]))))
    return out
