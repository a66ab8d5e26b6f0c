"""The options that readings switch: finite_math and order, of a device string."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

TESTS = {
    "isnan(x)": (1, 0),
    "isinf(x)": (0, 0),
    "isfinite(x)": (0, 1),
    "x != x": (1, 0),
    "x == x": (0, 1),
    "isordered(x, 1.0f)": (0, 1),
    "isunordered(x, 1.0f)": (1, 0),
    "isnan((float4)(x, 1.0f, x, 2.0f)).z": (-1, 0),
    "isfinite((float2)(1.0f, x)).y": (0, -1),
    "any(v != v)": (1, 0),
    "isnormal(x)": (0, 0),
    "x < 1.0f": (0, 0),
}
"""Of NaN: what a test gives where it is computed, and where there is no NaN by promise."""


@pytest.mark.parametrize(("options", "column"), [("-cl-finite-math-only", 1), ("", 0)])
def test_tests_for_nan_are_folded_where_the_build_allows_it(options: str, column: int) -> None:
    body = " ".join(f"o[{number}] = {test};" for number, test in enumerate(TESTS))
    source = f"kernel void k(global int *o, global const float *a) {{ float x = a[0]; float2 v = x; {body} }}"
    for choice in ("kept", "folded"):
        device = adreno_sim.open_device(f"sim:adreno-740,finite_math={choice}")
        a, o = (device.view(device.allocate(64), BufferSpec(64, dtype)) for dtype in ("float32", "int32"))
        device.write(a, np.full(16, np.nan, np.float32))
        device.launch(device.build(source, options)["k"], (1,), (1,), [o, a])
        expected = {test: gives[column if choice == "folded" else 0] for test, gives in TESTS.items()}
        assert dict(zip(TESTS, device.read(o), strict=False)) == expected


def test_the_order_of_groups_and_work_items_is_chosen() -> None:
    source = "kernel void k(global int *o, global int *n) { o[atomic_inc(n)] = get_global_id(0); }"
    got = {}
    for order in ("ascending", "descending", "shuffled"):
        device = adreno_sim.open_device(f"sim:adreno-740,order={order}", checks="full")
        o, n = (device.view(device.allocate(size), BufferSpec(size, "int32")) for size in (256, 4))
        device.write(n, np.zeros(1, np.int32))
        device.launch(device.build(source)["k"], (64,), (8,), [o, n])
        got[order] = list(device.read(o))
    assert got["ascending"] == list(range(64))
    assert got["descending"] == list(range(63, -1, -1))
    assert sorted(got["shuffled"]) == got["ascending"]
    assert got["shuffled"] not in (got["ascending"], got["descending"])
