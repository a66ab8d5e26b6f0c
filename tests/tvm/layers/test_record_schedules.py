"""Schedules of tuning records in a network: they compute the convolutions that they are of."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from adreno_sim import open_device

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from time_networks.schedules import RecordSchedules
from time_records.record import CONV, DEPTHWISE, Record, Split
from tvm import relax

from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.memory_scopes.scoping import Scoping
from adreno_sim.compiler.run import vm

PADDING = (1, 1, 1, 1)


def convolve(data, weight, stride, depthwise):
    height, width = data.shape[2:]
    data = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = (height - 1) // stride + 1, (width - 1) // stride + 1
    out = np.zeros((1, weight.shape[0], rows, columns))
    for ry in range(3):
        for rx in range(3):
            part = data[:, :, ry : ry + rows * stride : stride, rx : rx + columns * stride : stride][:, :, :rows, :columns]
            taps = weight[:, :, ry, rx]
            out += part * taps[None, :, 0, None, None] if depthwise else np.einsum("nchw,oc->nohw", part, taps)
    return out


def test_they_compute_their_convolutions():
    generator = np.random.default_rng(1)
    data = generator.integers(-3, 4, (1, 8, 7, 9)).astype(np.float32)
    full = generator.integers(-3, 4, (24, 8, 3, 3)).astype(np.float32)
    each = generator.integers(-3, 4, (24, 1, 3, 3)).astype(np.float32)
    records = [
        Record(CONV, "float32", (1, 8, 7, 9), full.shape, (2, 2), PADDING, (1, 1),
               Split(2, 2), Split(1, 4), Split(2, 2), 2, 3, 1, 0.0),
        Record(DEPTHWISE, "float32", (1, 24, 4, 5), each.shape, (1, 1), PADDING, (1, 1),
               Split(2, 3), Split(2, 1), Split(1, 4), 1, 1, 3, 0.0),
    ]  # fmt: skip
    blocks = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(data.shape, "float32"))
    with blocks.function("main", [x]):
        with blocks.dataflow():
            y = blocks.emit(relax.op.nn.conv2d(x, relax.const(full), (2, 2), PADDING))
            y = blocks.emit(relax.op.nn.conv2d(y, relax.const(each), (1, 1), PADDING, groups=24))
            result = blocks.emit_output(y)
        blocks.emit_func_output(result)
    schedules = RecordSchedules({"recorded": records})
    device = open_device("sim:adreno-730")
    target = make_target("texture", device.info.limits)
    lowered = lower(blocks.get(), target, tuned=schedules, scoping=Scoping(weights="texture"))
    assert sorted(schedules.applied.values()) == ["recorded", "recorded"]
    (found,) = vm.run(extract(lowered, "two"), [data], device)
    expected = convolve(convolve(data, full, 2, False), each, 1, True)
    assert np.array_equal(found, expected.astype(np.float32))
