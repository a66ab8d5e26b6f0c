"""Operators that work element by element: activations, clip, binary operators, and batch normalisation with given figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arithmetic import Mode, round_to_storage

BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "minimum": np.minimum, "maximum": np.maximum,
}  # fmt: skip

CEILING = {"relu": np.inf, "relu6": 6.0}
"""Activation -> its largest value."""


def activate(data: np.ndarray, kind: str, mode: Mode) -> np.ndarray:
    """relu or relu6; NaNs are kept."""
    return clip(data, 0.0, CEILING[kind], mode)


def clip(data: np.ndarray, low: float, high: float, mode: Mode) -> np.ndarray:
    return round_to_storage(np.minimum(np.maximum(data, data.dtype.type(low)), data.dtype.type(high)), mode)


def binary(name: str, a: np.ndarray, b: np.ndarray, mode: Mode) -> np.ndarray:
    """a `name` b, for tensors of one shape."""
    with np.errstate(all="ignore"):
        return round_to_storage(BINARY[name](a.astype(np.float64), b.astype(np.float64)), mode)


def normalise(
    data: np.ndarray,
    scale: np.ndarray,
    shift: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *,
    axis: int,
    epsilon: float,
    mode: Mode,
) -> np.ndarray:
    """(data - mean) / sqrt(variance + epsilon) * scale + shift along `axis`, rounded once."""
    along = [1] * data.ndim
    along[axis] = -1
    scale, shift, mean, variance = (array.astype(np.float64).reshape(along) for array in (scale, shift, mean, variance))
    with np.errstate(all="ignore"):
        return round_to_storage((data.astype(np.float64) - mean) / np.sqrt(variance + epsilon) * scale + shift, mode)
