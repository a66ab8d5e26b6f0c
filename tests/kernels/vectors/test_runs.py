"""Tiles of several rows of work-items: each row is one access of memory where the step between rows is known."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

TYPES = {"uchar": np.uint8, "short": np.int16, "half": np.float16, "int": np.int32, "float": np.float32, "long": np.int64}
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const T *restrict a, global const T *restrict b, global T *restrict r) {{
  int x = get_global_id(0), y = get_global_id(1);
  {body}
}}"""

IN_RUNS = {
    "rows": "r[y * 48 + x] = a[y * 48 + x + 1];",
    "a sum of rows": "r[y * 48 + x] = a[y * 48 + x] + a[(y + 1) * 48 + x + 2];",
    "shared by a row": "r[y * 48 + x] = a[y * 48 + x] + b[y * 3];",
    "shared by a column": "r[y * 48 + x] = a[y * 48 + x] + b[x];",
    "rows in halves of the range": "r[(y & 1) * 480 + (y >> 1) * 48 + x] = a[y * 48 + x];",
    "some of them": "if (x % 3 != 1) r[y * 48 + x] = a[y * 48 + x + 1];",
    "shared by some": "if ((x + y) % 3 != 1) r[y * 48 + x] = a[x + 2] + b[x];",
}
"""Bodies whose accesses of all lanes are no gather and no scatter."""
OTHERS = {
    "one element by some of a row": "if (x % 3 != 1) r[y * 48 + x] = b[y * 3];",
    "backwards": "r[y * 48 + 40 - x] = a[y * 48 + 40 - x];",
    "rows on one another": "r[y + x] = (T)(x + y);",
    "two apart": "r[y * 96 + x * 2] = a[y * 48 + x];",
}


def run(body: str, type: str, emitter: str, checks: str = "bounds") -> tuple[np.ndarray, str]:
    device = open_device("sim:adreno-740", checks=checks, cache=False, emitter=emitter)
    kernel = device.build(KERNEL.format(body=body), f"-DT={type}")["k"]
    data = np.random.default_rng(5).integers(0, 50, 1024).astype(TYPES[type])
    views = []
    for array in (data, data[::-1].copy(), np.zeros(2048, data.dtype)):
        views.append(device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, array.dtype.name)))
        device.write(views[-1], array)
    result = device.launch(kernel, (16, 16, 1), (4, 8, 1), views)
    assert not result.findings
    return device.read(views[2]), "".join(code.text for code in result.code)


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", [*IN_RUNS, *OTHERS])
def test_the_values_are_those_of_one_work_item_after_the_other(name, type, checks):
    body = (IN_RUNS | OTHERS)[name]
    found, text = run(body, type, "spmd", checks)
    np.testing.assert_array_equal(found, run(body, type, "scalar", checks)[0])
    if name in IN_RUNS and type in ("int", "float"):
        assert "masked.gather" not in text
        assert "masked.scatter" not in text


def test_an_element_behind_the_end_is_found_in_the_last_run():
    device = open_device("sim:adreno-740", checks="bounds", cache=False)
    kernel = device.build(KERNEL.format(body="r[y * 48 + x] = a[y * 48 + x + 1];"), "-DT=float")["k"]
    sizes = (4 * (15 * 48 + 16), 64, 4096)  # the last element that is read is the first behind the end
    views = [device.view(device.allocate(size), BufferSpec(size, "float32")) for size in sizes]
    (finding,) = device.launch(kernel, (16, 16, 1), (4, 8, 1), views).findings
    assert finding.work_item.global_id == (15, 15, 0)
    assert finding.count == 1
