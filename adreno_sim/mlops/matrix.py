"""Products of matrices: fully connected layers, GEMM, and weights stored in four bits."""

from __future__ import annotations

import numpy as np

from .arithmetic import Mode, product, round_to_storage

NIBBLES = 8
"""4-bit values in a uint32, the first in the lowest bits."""

MIDDLE = 7
"""What a stored value of a weight of 0 is."""


def multiply(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, mode: Mode, block: int = 0) -> np.ndarray:
    """a (M, K) times b (K, N), plus `bias` (N values) in each row. block: as of `product`."""
    out = product(a, b, mode, block)
    if bias is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            out = out + bias.astype(np.float32).reshape(1, -1)
    return round_to_storage(out, mode)


def dequantise(packed: np.ndarray, scales: np.ndarray, mode: Mode) -> np.ndarray:
    """Weights (K, N) from packed (K / 8, N) and scales (K / group, N): (value - 7) * scale."""
    shifts = (4 * np.arange(NIBBLES, dtype=np.uint32)).reshape(1, NIBBLES, 1)
    values = ((packed[:, None, :] >> shifts) & np.uint32(15)).reshape(packed.shape[0] * NIBBLES, packed.shape[1])
    whole = np.repeat(scales.astype(np.float32), values.shape[0] // scales.shape[0], axis=0)
    return round_to_storage((values.astype(np.float32) - MIDDLE) * whole, mode)
