"""The kernels against NumPy."""

from pathlib import Path

import numpy as np
import pytest

KERNELS = Path(__file__).parent / "kernels"
TILE = 8


def source(name):
    return (KERNELS / f"{name}.cl").read_text()


@pytest.mark.parametrize("rows, columns", [(8, 8), (13, 40)])
def test_transpose(adreno_kernel, rows, columns):
    x = np.random.default_rng(0).random((rows, columns), dtype="float32")
    whole = [-(-size // TILE) * TILE for size in (columns, rows)]
    arguments = [np.zeros((columns, rows), "float32"), x, rows, columns]
    run = adreno_kernel(source("transpose"), arguments, whole, (TILE, TILE), options=f"-DTILE={TILE}")
    np.testing.assert_array_equal(run.arrays[0].reshape(columns, rows), x.T)


def test_a_tile_that_is_too_small_is_noticed(adreno_kernel):
    x = np.zeros((8, 8), "float32")
    kinds = ["out-of-bounds-write", "out-of-bounds-read"]
    adreno_kernel(source("transpose"), [x, x, 8, 8], (8, 8), (8, 8), options="-DTILE=4", expect=kinds)


@pytest.mark.adreno(requires="images")
def test_brighten(adreno_kernel):
    x = np.random.default_rng(1).random((1, 5, 7, 4), dtype="float32")  # layer, row, column, channel
    y = adreno_kernel.Image(np.zeros_like(x))
    run = adreno_kernel(source("brighten"), [y, adreno_kernel.Image(x), np.float32(0.25)], (7, 5))
    expected = np.clip(x + np.array([0.25, 0.25, 0.25, 0], "float32"), 0, 1)
    np.testing.assert_allclose(run.arrays[0].reshape(x.shape), expected, rtol=1e-6)
