"""Values of each lane read as another type: the same bits as NumPy's views, without a loop over lanes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

from .lane_loops import goes_from_lane_to_lane

COUNT = 64
SIZES = {"uchar": 1, "ushort": 2, "half": 2, "uint": 4, "float": 4, "ulong": 8}
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const uint4 *a, global FROM *b, global TO *d, int n) {
  int x = get_global_id(0);
  FROM v = GIVEN;
  if (x % 3 != n) d[x] = as_TO(v);
}"""


def spelled(scalar: str, nbytes: int) -> str:
    count = nbytes // SIZES[scalar]
    return scalar if count == 1 else f"{scalar}{count}"


PAIRS = [
    (spelled(one, nbytes), spelled(other, nbytes), nbytes)
    for nbytes in (4, 8, 16)
    for one, other in itertools.permutations(SIZES, 2)
    if max(SIZES[one], SIZES[other]) <= nbytes and nbytes // min(SIZES[one], SIZES[other]) <= 16 and SIZES[one] != SIZES[other]
]


def test_constants_read_as_vectors():
    device = open_device("sim:reference")
    view = device.view(device.allocate(64), BufferSpec(64, "uint32"))
    source = """kernel void k(global uint *o) { o[0] = as_uint(as_uchar4(512888820u).wzyx); o[1] = as_ushort4(1.0).w;
      o[2] = as_uint(as_uchar4(1.5f).wzyx); o[3] = as_uint2(0x100000002ul).y; }"""
    assert not device.launch(device.build(source)["k"], (1,), (1,), [view]).findings
    turned = [np.frombuffer(np.array(value).tobytes()[::-1], np.uint32)[0] for value in (np.uint32(512888820), np.float32(1.5))]
    assert device.read(view)[:4].tolist() == [turned[0], 0x3FF0, turned[1], 1]


@pytest.mark.each_value
@pytest.mark.parametrize(("source", "target", "nbytes"), PAIRS)
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_bits_are_those_of_numpys_view(source: str, target: str, nbytes: int, checks: str) -> None:
    part = {4: ".x", 8: ".xy", 16: ""}[nbytes]
    text = KERNEL.replace("GIVEN", f"as_{source}(a[x]{part})").replace("FROM", source).replace("TO", target)
    device = open_device(f"sim:adreno-830,checks={checks},cache=false")
    a = np.random.default_rng(nbytes).integers(0, 256, COUNT * 16).astype("uint8")
    for at in range(3, a.size, 4):  # exponents of numbers that no rule of floats changes
        a[at] = 0x40 | a[at] & 0x0F
    views = []
    for data in (a, np.zeros(COUNT * nbytes, "uint8"), np.zeros(COUNT * nbytes, "uint8")):
        views.append(device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, "uint8")))
        device.write(views[-1], data)
    result = device.launch(device.build(text)["k"], (COUNT,), (COUNT,), [*views, np.int32(1)])
    assert not result.findings
    expected = a.reshape(COUNT, 16)[:, :nbytes].copy()
    expected[1::3] = 0
    np.testing.assert_array_equal(device.read(views[2]).view("uint8").reshape(COUNT, nbytes), expected)
    assert "vectors of" in result.code[-1].description
    assert not goes_from_lane_to_lane(result.code[-1].text)
