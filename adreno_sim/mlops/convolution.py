"""Convolution, depthwise and transposed convolution as matrix products over the taps of the filter.

Shapes: data (N, C, H, W); weights (O, C, Kh, Kw) plain, (1, C, Kh, Kw) depthwise. padding (top, left, bottom, right).
"""

from __future__ import annotations

import numpy as np

from ..records import dataclass
from .arithmetic import Mode, product, round_to_storage


@dataclass(frozen=True)
class Window:
    """How a filter moves: strides and dilation are (vertical, horizontal)."""

    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    strides: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)

    def out_size(self, height: int, width: int, filter_height: int, filter_width: int) -> tuple[int, int]:
        """Rows and columns of the result."""
        top, left, bottom, right = self.padding
        reach = (self.dilation[0] * (filter_height - 1) + 1, self.dilation[1] * (filter_width - 1) + 1)
        return (height + top + bottom - reach[0]) // self.strides[0] + 1, (width + left + right - reach[1]) // self.strides[1] + 1


def taps(data: np.ndarray, filter_size: tuple[int, int], window: Window, fill: float = 0.0) -> np.ndarray:
    """What each tap of the filter sees: (N, C, Kh, Kw, rows, columns), a view where nothing is padded."""
    top, left, bottom, right = window.padding
    if any(window.padding):
        data = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=data.dtype.type(fill))
    n, c, height, width = data.shape
    rows, columns = Window((0, 0, 0, 0), window.strides, window.dilation).out_size(height, width, *filter_size)
    sn, sc, sh, sw = data.strides
    shape = (n, c, *filter_size, rows, columns)
    steps = (sn, sc, sh * window.dilation[0], sw * window.dilation[1], sh * window.strides[0], sw * window.strides[1])
    return np.lib.stride_tricks.as_strided(data, shape, steps, writeable=False)


def convolve(data: np.ndarray, weights: np.ndarray, window: Window, mode: Mode, block: int = 0) -> np.ndarray:
    """Plain convolution: (N, O, rows, columns) of values that the mode can hold. block: as of `product`."""
    seen = taps(data, (weights.shape[2], weights.shape[3]), window)
    n, c, kh, kw, rows, columns = seen.shape
    matrix = weights.reshape(weights.shape[0], -1)
    out = [product(matrix, np.ascontiguousarray(image).reshape(c * kh * kw, rows * columns), mode, block) for image in seen]
    return np.stack(out).reshape(n, weights.shape[0], rows, columns)


def convolve_depthwise(data: np.ndarray, weights: np.ndarray, window: Window, mode: Mode) -> np.ndarray:
    """Each channel with its own filter."""
    seen = taps(data, (weights.shape[2], weights.shape[3]), window)
    total = np.zeros((seen.shape[0], seen.shape[1], *seen.shape[4:]), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(seen.shape[2]):
            for j in range(seen.shape[3]):
                part = seen[:, :, i, j].astype(np.float64) * weights[0, :, i, j].astype(np.float64)[None, :, None, None]
                total += round_to_storage(part, mode) if mode == "float16" else part
                if mode == "float16":
                    total = round_to_storage(total, mode).astype(np.float64)
    return round_to_storage(total, mode).astype(np.float32)


def convolve_transposed(
    data: np.ndarray, weights: np.ndarray, window: Window, output_padding: tuple[int, int], mode: Mode
) -> np.ndarray:
    """Transposed convolution with weights (O, C, Kh, Kw): data spread by the strides, then convolved with the filter turned."""
    n, c, height, width = data.shape
    kh, kw = weights.shape[2], weights.shape[3]
    spread = np.zeros((n, c, (height - 1) * window.strides[0] + 1, (width - 1) * window.strides[1] + 1), data.dtype)
    spread[:, :, :: window.strides[0], :: window.strides[1]] = data
    top, left, bottom, right = window.padding
    reach = window.dilation[0] * (kh - 1), window.dilation[1] * (kw - 1)
    around = (reach[0] - top, reach[1] - left, reach[0] - bottom + output_padding[0], reach[1] - right + output_padding[1])
    cut = [max(0, -side) for side in around]
    spread = spread[:, :, cut[0] : spread.shape[2] - cut[2], cut[1] : spread.shape[3] - cut[3]]
    turned = Window((max(around[0], 0), max(around[1], 0), max(around[2], 0), max(around[3], 0)), (1, 1), window.dilation)
    return convolve(spread, weights[:, :, ::-1, ::-1], turned, mode)
