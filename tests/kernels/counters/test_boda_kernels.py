"""Kernels that stand for boda's (`ci/bench/time_devices`): a driver saw such groups, and no access leaves its buffer."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from time_devices.boda import TUNINGS, Convolution, Generator, split_work

STRIDED = Convolution(2, 3, 11, 9, 20, 3, 3, 2, 1)
POINTS = Convolution(2, 16, 8, 8, 72, 1, 1, 1, 0)


@pytest.mark.parametrize(
    ("pixels", "channels", "items"),
    [(1 * 14 * 14, 24, 75), (5 * 14 * 14, 24, 126), (1 * 28 * 28, 32, 128), (5 * 7 * 7, 48, 126), (20 * 7 * 7, 32, 128)],
)
def test_groups_are_those_that_a_driver_refused_or_took(pixels, channels, items) -> None:
    assert split_work(pixels, channels, TUNINGS["T6"]).items == items


@pytest.mark.parametrize(
    ("function", "tuning", "op"),
    [
        ("conv", "T2", STRIDED), ("tconv", "T1", STRIDED), ("conv_simd", "T0", STRIDED), ("k1conv", "T1", POINTS),
        ("k1conv_simd", "T0", POINTS),
    ],
)  # fmt: skip
def test_no_access_leaves_its_buffer(function, tuning, op) -> None:
    made = Generator(op, TUNINGS[tuning]).make(function)
    device = open_device("sim:adreno-530,checks=bounds")
    views = [device.view(device.allocate(4 * count), BufferSpec(4 * count, "float32")) for count in made.floats]
    for view, value in zip(views, (1.0, 0.5, 1.0, -1.0), strict=True):
        device.write(view, np.full(view.spec.count, value, np.float32))
    result = device.launch(device.build(made.source)["convolve"], (made.groups * made.items,), (made.items,), views)
    assert not result.findings
    out = device.read(views[3])
    written = op.images * op.outputs * op.out_height * op.out_width
    assert (out[out != -1.0] >= 0.5).all()
    assert (out != -1.0).sum() >= written
    inner = op.inputs * op.ky * op.kx + 0.5  # of pixels whose taps all lie in the input: ones times ones, and the bias
    assert np.isclose(out.max(), inner)
