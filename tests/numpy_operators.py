"""The main operators of networks in NumPy, by their definitions: they judge TVM's llvm code, which judges the kernels.

Float inputs are computed in float64 and rounded once to the input's type. Layouts are NCHW and OIHW.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Pair = tuple[int, int]


def conv2d(
    data: np.ndarray, weight: np.ndarray, strides: Pair = (1, 1), padding: Pair = (0, 0), dilation: Pair = (1, 1), groups: int = 1
) -> np.ndarray:
    """Cross-correlation. data (n, c, h, w), weight (o, c / groups, kh, kw), zero padding on both sides of h and w."""
    out_channels, per_group, height, width = weight.shape
    windows = _windows(_pad(data, padding, 0.0), (height, width), strides, dilation)
    split = windows.reshape(data.shape[0], groups, per_group, *windows.shape[2:])
    kernels = weight.astype(np.float64).reshape(groups, out_channels // groups, per_group, height, width)
    result = np.einsum("ngcyxij,gocij->ngoyx", split, kernels, optimize=True)
    return result.reshape(data.shape[0], out_channels, *result.shape[3:]).astype(data.dtype)


def max_pool2d(data: np.ndarray, size: Pair, strides: Pair = (1, 1), padding: Pair = (0, 0)) -> np.ndarray:
    """Largest element of each window; padding never wins."""
    return _windows(_pad(data, padding, -np.inf), size, strides).max(axis=(-2, -1)).astype(data.dtype)


def avg_pool2d(
    data: np.ndarray, size: Pair, strides: Pair = (1, 1), padding: Pair = (0, 0), count_include_pad: bool = False
) -> np.ndarray:
    """Mean of each window, over the elements inside the data unless `count_include_pad`."""
    total = _windows(_pad(data, padding, 0.0), size, strides).sum(axis=(-2, -1))
    inside = _pad(np.ones(data.shape), padding, 1.0 if count_include_pad else 0.0)
    return (total / _windows(inside, size, strides).sum(axis=(-2, -1))).astype(data.dtype)


def softmax(data: np.ndarray, axis: int = -1) -> np.ndarray:
    """exp(x) over its sum along `axis`."""
    wide = data.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(data.dtype)


def layer_norm(data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, axes: Sequence[int], epsilon: float = 1e-5) -> np.ndarray:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta over `axes`, which gamma and beta span."""
    wide = data.astype(np.float64)
    mean, variance = wide.mean(axis=tuple(axes), keepdims=True), wide.var(axis=tuple(axes), keepdims=True)
    return ((wide - mean) / np.sqrt(variance + epsilon) * gamma + beta).astype(data.dtype)


def batch_norm(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float = 1e-5
) -> np.ndarray:
    """Inference: (x - mean) / sqrt(variance + epsilon) * gamma + beta per channel (axis 1)."""
    gamma, beta, mean, variance = (value.astype(np.float64)[:, None, None] for value in (gamma, beta, mean, variance))
    return ((data.astype(np.float64) - mean) / np.sqrt(variance + epsilon) * gamma + beta).astype(data.dtype)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matrix product over the last two axes, the others broadcast."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)


def _pad(data: np.ndarray, padding: Pair, value: float) -> np.ndarray:
    (top, left), wide = padding, data.astype(np.float64)
    return np.pad(wide, ((0, 0), (0, 0), (top, top), (left, left)), constant_values=value)


def _windows(data: np.ndarray, size: Pair, strides: Pair, dilation: Pair = (1, 1)) -> np.ndarray:
    """(n, c, y, x, i, j): element (i, j) of the window at output (y, x)."""
    extent = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    windows = sliding_window_view(data, extent, axis=(2, 3))
    return windows[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
