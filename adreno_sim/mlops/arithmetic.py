"""Arithmetic modes of OpenCL ML, and sums of products and softmax in them.

float32: tensors and sums are float32. float16: both are half, every product and every sum is rounded, in the order of the
summed index (a device may take another order). float16-acc32: halves are summed in float32 and rounded once. Sums in float32
are computed in double and rounded: the same bits on every machine, and at least as exact as any order of a device's.
"""

from __future__ import annotations

from typing import Literal

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
        from .half_product import half_product  # numba, which it compiles with, takes half a second to import

        with np.errstate(over="ignore", invalid="ignore"):
            return half_product(np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        return round_to_storage(a.astype(np.float64) @ b.astype(np.float64), mode).astype(np.float32)


def softmax(data: np.ndarray, axis: int, mode: Mode) -> np.ndarray:
    """exp(x) / sum(exp(x)) along `axis`, in the accurate form: the largest value is subtracted first."""
    wide = data.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        return round_to_storage(powers / powers.sum(axis=axis, keepdims=True), mode)
