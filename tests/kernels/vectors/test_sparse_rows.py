"""Rows of small elements of which only some lanes are accessed, across pages: right values, nothing else is read or written."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects
from adreno_sim.findings import Kind

from .lane_loops import goes_from_lane_to_lane

COUNT = 8192
"""Work-items: rows lie in several pages, and some across the end of one."""
TYPES = {"uchar": np.uint8, "short": np.int16, "half": np.float16, "int": np.int32}
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const T *a, global const int *m, global T *d, int n) {
  int x = get_global_id(0);
  if (m[x]) { BODY }
}"""
BODIES = {
    "neighbours": "d[x + 1] = a[x + 3];",
    "every other": "d[x + 1] = a[2 * x + 1];",
    "two of four": "T2 v = vload2(0, a + 4 * x + 1); d[x + 1] = v.x + v.y;",
    "pairs": "vstore2(vload2(x, a + 1), x, d + 1);",
    "triples": "vstore3(vload3(x, a), x, d + 1);",
    "backwards": "d[x + 1] = a[n - x];",
}


def expected_of(name: str, a: np.ndarray, m: np.ndarray) -> np.ndarray:
    found = np.zeros(4 * COUNT + 16, a.dtype)
    for x in np.flatnonzero(m):
        if name == "two of four":
            found[x + 1] = a[4 * x + 1] + a[4 * x + 2]
        elif name == "pairs":
            found[2 * x + 1 : 2 * x + 3] = a[2 * x + 1 : 2 * x + 3]
        elif name == "triples":
            found[3 * x + 1 : 3 * x + 4] = a[3 * x : 3 * x + 3]
        else:
            found[x + 1] = a[{"neighbours": x + 3, "every other": 2 * x + 1, "backwards": COUNT - x}[name]]
    return found


@pytest.mark.each_value
@pytest.mark.parametrize("share", [0.01, 0.6, 1.0])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", BODIES)
def test_lanes_that_are_on_and_no_others(name: str, type: str, share: float) -> None:
    random = np.random.default_rng(5)
    a = random.integers(0, 60, 4 * COUNT + 16).astype(TYPES[type])
    m = (random.random(COUNT) < share).astype("int32")
    for checks in ("off", "bounds", "full"):
        device = open_device(f"sim:adreno-740,checks={checks},cache=false")
        views = []
        for data in (a, m, np.zeros_like(a)):
            views.append(device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, data.dtype.name)))
            device.write(views[-1], data)
        text = KERNEL.replace("BODY", BODIES[name])
        kernel = device.build(text, f"-DT={type} -DT2={type}2")["k"]
        result = device.launch(kernel, (COUNT,), (64,), [*views, np.int32(COUNT)])
        assert not result.findings
        np.testing.assert_array_equal(device.read(views[2]), expected_of(name, a, m))
        if name == "neighbours" and checks == "bounds":
            assert not goes_from_lane_to_lane(result.code[-1].text)
            loops = TYPES[type]().itemsize < 4 and not objects.machine().processor.masks_bytes
            assert ("@load_lanes." in result.code[-1].text) == loops


def test_a_lane_outside_of_the_buffer_is_named_alone() -> None:
    device = open_device("sim:adreno-740,checks=bounds,cache=false")
    views = []
    for nbytes, dtype in ((4093, "uint8"), (4 * 4096, "int32"), (4200, "uint8")):
        views.append(device.view(device.allocate(nbytes), BufferSpec(nbytes, dtype)))
        device.write(views[-1], np.ones(nbytes // np.dtype(dtype).itemsize, dtype))
    text = KERNEL.replace("BODY", "d[x] = a[x];")
    result = device.launch(device.build(text, "-DT=uchar -DT2=uchar2")["k"], (4096,), (64,), [*views, np.int32(0)])
    assert [(finding.kind, finding.count) for finding in result.findings] == [(Kind.OUT_OF_BOUNDS_READ, 3)]
    assert list(device.read(views[2])[4090:4098]) == [1, 1, 1, 0, 0, 0, 1, 1]
