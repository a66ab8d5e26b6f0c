"""Loops of vectors that lanes leave by several ways, out of one piece of code that may be skipped, to different places."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

ITEMS, ROUNDS = 64, 9

SOURCE = """
kernel void k(global int *a, global int *out, int n) {
  int i = get_global_id(0), r = 0;
  for (int j = 0; j < n; j++) {
    int v = a[i * n + j];
    if (v > 3) {
      r += v * v;
      a[i * n + j] = r;
      if (v == 5) WAY_OF_5
      if (v == 7) WAY_OF_7
    }
  }
  out[i] = RESULT;
}"""


def expect(values: np.ndarray, ways: dict[int, str], result: str) -> tuple[np.ndarray, np.ndarray]:
    """What `a` and `out` hold afterwards."""
    left, out = values.copy(), np.full(ITEMS, -1, np.int32)
    for i, row in enumerate(left):
        sum, way = 0, ""
        for j, value in enumerate(row.tolist()):
            if value > 3:
                sum += value * value
                row[j] = sum
                way = ways.get(value, "")
                if way in ("break;", "return;"):
                    break
        if way != "return;":
            out[i] = sum if result == "r" else 1
    return left, out


@pytest.mark.share(2)
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("result", ["r", "1"])
@pytest.mark.parametrize("ways", [("break;", "return;"), ("return;", "break;"), ("break;", "break;"), ("return;", "continue;")])
def test_lanes_arrive_where_they_go(ways, result, checks):
    device = adreno_sim.open_device("sim:adreno-740", checks=checks)
    source = SOURCE.replace("WAY_OF_5", ways[0]).replace("WAY_OF_7", ways[1]).replace("RESULT", result)
    values = np.random.default_rng(1).integers(0, 10, (ITEMS, ROUNDS)).astype(np.int32)
    a, out = (device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32")) for count in (values.size, ITEMS))
    device.write(a, values.reshape(-1))
    device.write(out, np.full(ITEMS, -1, np.int32))
    done = device.launch(device.build(source)["k"], (ITEMS,), (ITEMS,), [a, out, np.int32(ROUNDS)])
    left, expected = expect(values, {5: ways[0], 7: ways[1]}, result)
    assert not done.findings
    assert "vectors of" in done.code[0].description
    np.testing.assert_array_equal(device.read(out), expected)
    np.testing.assert_array_equal(device.read(a), left.reshape(-1))
