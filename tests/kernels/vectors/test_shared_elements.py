"""Lanes that share elements, lie some elements apart, or in another order: one access for all of them, and each lane its own."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

COUNT, LOCAL = 96, 32
TYPES = {"uchar": np.uint8, "half": np.float16, "int": np.int32, "long": np.int64}
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const {type} *a, global {type} *d) {{
  int x = get_global_id(0), l = get_local_id(0), g = get_group_id(0);
  if ({condition}) d[x] = a[{index}] + ({type})1;
}}"""

TOGETHER = ["g * 8 + (l >> 2)", "g * 4 + (l & 3)", "200 - x", "x * 8 + 3"]
"""Indices that one access of halves serves, in C and in Python."""
APART = ["x ^ 1", "g + (l >> 1) * 3", "x * 5 + 1", "x * 17"]
NEGATIVE = ["(l - 5) >> 2", "(l - 5) & 3", "(l - 5) / 4", "(uint)(l - 5) >> 2"]


def run(type, index, checks, condition="true"):
    """What a launch writes, and the text of its code."""
    device = open_device(f"sim:adreno-740,checks={checks},cache=false")
    kernel = device.build(KERNEL.format(type=type, index=index, condition=condition))["k"]
    a = (np.arange(COUNT * 17) % 100).astype(TYPES[type])
    views = []
    for data in (a, np.zeros(COUNT, TYPES[type])):
        views.append(device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, data.dtype.name)))
        device.write(views[-1], data)
    result = device.launch(kernel, (COUNT, 1, 1), (LOCAL, 1, 1), views)
    assert not result.findings
    return a, device.read(views[1]), "".join(code.text for code in result.code)


def expected(a, index, active):
    """The same by NumPy; active: the first local id that writes."""
    x = np.arange(COUNT)
    local = x % LOCAL
    place = eval(index.replace("(uint)", "").replace("/", "//"), {"x": x, "l": local, "g": x // LOCAL})
    return np.where(local >= active, a[place] + a.dtype.type(1), a.dtype.type(0))


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("type", TYPES)
def test_each_lane_gets_its_element(type, checks):
    for index in TOGETHER + APART:
        a, found, _ = run(type, index, checks)
        np.testing.assert_array_equal(found, expected(a, index, 0), index)


@pytest.mark.parametrize("index", TOGETHER)
def test_one_access_is_enough(index):
    assert "masked.gather" not in run("half", index, "off")[2]


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_lane_0_without_work_may_be_below_zero(checks):
    for index in NEGATIVE:
        a, found, _ = run("int", index, checks, "l >= 5")
        np.testing.assert_array_equal(found, expected(a, index, 5), index)
