"""Layers of `relax.frontend.nn` whose weights are nibbles in uint32 with a scale for each group of 32 (q4f16)."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import te, tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op

GROUP, PACKED = 32, 8


def nibble(weight: Any, scale: Any, i: Any, j: Any, dtype: str) -> Any:
    """Element (i, j) of the matrix that is kept so."""
    bits = (weight[i, j // PACKED] >> (j % PACKED * 4).astype("uint32")) & tirx.const(15, "uint32")
    return (bits.astype(dtype) - tirx.const(7, dtype)) * scale[i, j // GROUP]


class QuantisedMatrix(nn.Module):
    """A matrix [rows, columns]. fused: a product with it is one function, as compilers of language models make it."""

    def __init__(self, rows: int, columns: int, dtype: str, fused: bool = False):
        self.rows, self.columns, self.dtype, self.fused = rows, columns, dtype, fused
        self.weight = nn.Parameter((rows, columns // PACKED), "uint32")
        self.scale = nn.Parameter((rows, columns // GROUP), dtype)

    def to(self, dtype: str | None = None) -> None:
        """Nibbles stay what they are."""
        self.scale.to(dtype)

    def apply(self, x: Any) -> Any:
        """y [1 or more, n, rows] = x W^T."""
        if self.fused:
            return op.tensor_expr_op(self._product, "dequantise_matmul", [self.weight, self.scale, x])
        matrix = op.tensor_expr_op(self._dequantise, "dequantise", [self.weight, self.scale])
        return op.matmul(x, op.permute_dims(matrix))

    def _dequantise(self, weight: Any, scale: Any) -> Any:
        return te.compute((self.rows, self.columns), lambda i, j: nibble(weight, scale, i, j, self.dtype), "dequantised")

    def _product(self, weight: Any, scale: Any, x: Any) -> Any:
        matrix, k = self._dequantise(weight, scale), te.reduce_axis((0, self.columns), "k")
        return te.compute((*x.shape[:2], self.rows), lambda b, n, i: te.sum(x[b, n, k] * matrix[i, k], axis=k), "product")


class QuantisedLinear(QuantisedMatrix):
    """y = x W^T."""

    def __init__(self, inputs: int, outputs: int, dtype: str, fused: bool = False):
        super().__init__(outputs, inputs, dtype, fused)

    def forward(self, x: Any) -> Any:
        return self.apply(x)


class QuantisedEmbedding(QuantisedMatrix):
    """The rows that tokens [1, n] name; the same matrix may be the last layer (`apply`)."""

    def forward(self, tokens: Any) -> Any:
        def take(weight: Any, scale: Any, indices: Any) -> Any:
            shape = (*indices.shape, self.columns)
            return te.compute(shape, lambda b, n, j: nibble(weight, scale, indices[b, n], j, self.dtype), "taken")

        return op.tensor_expr_op(take, "take", [self.weight, self.scale, tokens])


def draw_weight(name: str, shape: list[int], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """A seeded weight; what a quantised product sums comes out near 1."""
    if dtype == "uint32":
        words = rng.integers(0, 1 << 32, shape, np.uint32)
        fifteens = words & words >> 1 & words >> 2 & words >> 3 & 0x11111111
        return words ^ fifteens * 8  # as many above the middle, 7, as below
    if len(shape) == 1:
        return rng.uniform(0.5, 1.5, shape).astype(dtype)
    if name.endswith("scale"):
        return (rng.uniform(0.5, 1.5, shape) / (4.6 * np.sqrt(shape[1] * GROUP))).astype(dtype)
    scale = 1.0 if "embedding" in name else shape[1] ** -0.5
    return (scale * rng.standard_normal(shape)).astype(dtype)
