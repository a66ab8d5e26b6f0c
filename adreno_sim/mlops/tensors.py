"""Tensors of OpenCL ML: layouts, sizes, and packing into memory.

What the OPTIMAL layout is only a driver knows. Here it is (N, C / 4, H, W, 4), four channels side by side and the last ones
filled up, so that a program that takes OPTIMAL bytes for plain ones reads something else, as it would on a device.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..records import dataclass

Layout = Literal["optimal", "nchw"]

LANES = 4
ALIGNMENT = 64
"""Bytes to which a tensor's memory is rounded up."""


@dataclass(frozen=True)
class MLTensorSpec:
    """A tensor's logical shape (at most four dimensions, as the node has it), numpy dtype name and layout."""

    shape: tuple[int, ...]
    dtype: str
    layout: Layout = "optimal"

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """n, c, h, w: the shape filled up with 1 behind, as TVM's runtime does."""
        n, c, h, w = (*self.shape, 1, 1, 1, 1)[:4]
        return n, c, h, w

    @property
    def stored_shape(self) -> tuple[int, ...]:
        n, c, h, w = self.dims
        return (n, c, h, w) if self.layout == "nchw" else (n, -(-c // LANES), h, w, LANES)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the tensor takes."""
        dense = math.prod(self.stored_shape) * np.dtype(self.dtype).itemsize
        return max(-(-dense // ALIGNMENT) * ALIGNMENT, ALIGNMENT)


def pack(dense: np.ndarray, spec: MLTensorSpec) -> np.ndarray:
    """Elements in the order of the layout, flat."""
    n, c, h, w = spec.dims
    array = dense.reshape(n, c, h, w)
    if spec.layout == "nchw":
        return np.ascontiguousarray(array).reshape(-1)
    stored = np.zeros((n, spec.stored_shape[1] * LANES, h, w), array.dtype)
    stored[:, :c] = array
    return np.ascontiguousarray(stored.reshape(n, -1, LANES, h, w).transpose(0, 1, 3, 4, 2)).reshape(-1)


def unpack(stored: np.ndarray, spec: MLTensorSpec) -> np.ndarray:
    """The dense tensor of flat elements in the layout."""
    n, c, h, w = spec.dims
    array = stored.reshape(spec.stored_shape)
    if spec.layout == "nchw":
        return array.reshape(spec.shape)
    dense = np.ascontiguousarray(array.transpose(0, 1, 4, 2, 3)).reshape(n, -1, h, w)
    return np.ascontiguousarray(dense[:, :c]).reshape(spec.shape)
