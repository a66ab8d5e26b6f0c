"""Fused dequantisation and matrix-vector product in groups of 32 nibbles (q4f16), as a compiler of language models makes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import te, tirx

GROUP, PACKED = 32, 8


def gemv(rows: int, columns: int, wrong: str = "") -> Any:
    """The PrimFunc of y[rows] = W x[columns], weights as nibbles in uint32 with a half scale for each group.

    wrong: "nibble" = the lowest bit of one nibble of all is flipped, "partial" = the last eight products of one row are left out.
    """
    x = te.placeholder((1, columns), "float16", "x")
    weights = te.placeholder((rows, columns // PACKED), "uint32", "weights")
    scales = te.placeholder((rows, columns // GROUP), "float16", "scales")

    def dequantised(i: Any, j: Any) -> Any:
        nibble = (weights[i, j // PACKED] >> (j % PACKED * 4).astype("uint32")) & tirx.const(15, "uint32")
        if wrong == "nibble":
            nibble = te.if_then_else(te.all(i == rows // 3, j == columns // 5), nibble ^ tirx.const(1, "uint32"), nibble)
        return (nibble.astype("float16") - tirx.const(7, "float16")) * scales[i, j // GROUP]

    w = te.compute((rows, columns), dequantised, "dequantised")
    k = te.reduce_axis((0, columns), "k")

    def term(o: Any, i: Any) -> Any:
        left_out = te.all(i == rows // 3, k >= columns - PACKED) if wrong == "partial" else None
        product = x[o, k] * w[i, k]
        return product if left_out is None else te.if_then_else(left_out, tirx.const(0, "float16"), product)

    y = te.compute((1, rows), lambda o, i: te.sum(term(o, i), axis=k), "y")
    return te.create_prim_func([weights, scales, x, y]).with_attr("global_symbol", "fused_dequantize_gemv")


def arguments(rows: int, columns: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 1 << 32, (rows, columns // PACKED), np.uint32)
    scales = (rng.uniform(0.5, 1.5, (rows, columns // GROUP)) * 0.02).astype(np.float16)
    x = rng.standard_normal((1, columns)).astype(np.float16)
    return [weights, scales, x, np.zeros((1, rows), np.float16)]


def product(weights: np.ndarray, scales: np.ndarray, x: np.ndarray, *_: Any) -> list[Any]:
    """What it should compute, in float64, as `check_kernel` takes it."""
    nibbles = (weights[:, :, None] >> (4 * np.arange(PACKED, dtype=np.uint32))) & 15
    w = (nibbles.reshape(len(weights), -1) - 7.0) * np.repeat(scales.astype(np.float64), GROUP, axis=1)
    return [None, None, None, (w @ x[0].astype(np.float64))[None]]
