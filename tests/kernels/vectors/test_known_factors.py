"""What a launch gives as the step between work-items is in its code: neighbours with a small one are accessed as one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from in_range_checks import launch_of

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.prove.in_range import AccessAnalysis
from adreno_sim.engine.prove.known_factors import find_known_factors

ITEMS, PAST = 64, 60
SIZE = ITEMS * 20
KERNEL = """kernel void k(global const float *a, global float *d, int inc, int n, ulong bytes) {{
    int x = get_global_id(0);
    {body} }}"""
BODIES = {
    "product": "if (x < n) d[x * inc] = a[x * inc] + 1;",
    "24 bits": "if (x < n) d[mul24(x, inc)] = a[mad24(inc, x, 0)] + 1;",
    "bytes": """global char *q = (global char *)d; global const char *p = (global const char *)a;
      if (x < n) *(global float *)(q + x * bytes) = *(global const float *)(p + x * bytes) + 1;""",
    "stepping": "for (int i = x; i < n; i += get_global_size(0)) d[i * inc] = a[i * inc] + 1;",
    "computed": "int twice = 2 * inc; if (x < n) d[x * twice / 2] = a[x * (twice / 2)] + 1;",
}


def is_gathered(text: str) -> bool:
    return re.search(r"masked\.(gather|scatter)", text) is not None


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("name", BODIES)
def test_one_kernel_is_right_with_every_step(name, checks):
    """Code of one launch must not be that of the next, whose step is another."""
    device = adreno_sim.open_device(f"sim:adreno-740,checks={checks},cache=false")
    kernel = device.build(KERNEL.format(body=BODIES[name]))["k"]
    a = np.arange(SIZE, dtype=np.float32)
    source, target = (device.view(device.allocate(4 * SIZE), BufferSpec(4 * SIZE, "float32")) for _ in range(2))
    device.write(source, a)
    for inc in (1, 4, 16, 17, 2, 1, 3, 0 if checks != "full" else 1):
        device.write(target, np.zeros(SIZE, np.float32))
        args = [source, target, np.int32(inc), np.int32(PAST), np.uint64(4 * inc)]
        result = device.launch(kernel, (ITEMS, 1, 1), (16, 1, 1), args)
        expected = np.zeros(SIZE, np.float32)
        at = np.arange(PAST) * inc
        expected[at] = a[at] + 1
        np.testing.assert_array_equal(device.read(target), expected)
        assert not result.findings
        if name != "computed" and checks != "full" and inc in (1, 2, 3, 4, 17):  # of 4 bytes: up to four are loaded whole
            assert is_gathered("".join(code.text for code in result.code)) == (inc == 17)


@pytest.mark.parametrize("inc", [-1, -3])
def test_a_step_backwards(inc):
    device = adreno_sim.open_device("sim:adreno-740,checks=bounds,cache=false")
    kernel = device.build(KERNEL.format(body="d[(x - 63) * inc] = a[(x - 63) * inc] + 1;"))["k"]
    a = np.arange(SIZE, dtype=np.float32)
    views = [device.view(device.allocate(4 * SIZE), BufferSpec(4 * SIZE, "float32")) for _ in range(2)]
    for view, data in zip(views, (a, np.zeros_like(a)), strict=True):
        device.write(view, data)
    result = device.launch(kernel, (ITEMS, 1, 1), (16, 1, 1), [*views, np.int32(inc), np.int32(PAST), np.uint64(0)])
    at = np.arange(63, -1, -1) * -inc
    assert not result.findings
    assert (device.read(views[1])[at] == a[at] + 1).all()


def factors(body: str) -> set[tuple[int, int]]:
    """Operand and value of each factor known in a launch where n is 7 and u is 5."""
    source = "__kernel void k(__global int *a, __global int *b, int n, uint u) { int x = get_global_id(0); " + body + " }"
    function, spec, facts = launch_of(source, 512)
    return {(at, factor) for _, at, factor in find_known_factors(AccessAnalysis(function, spec, facts))}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a[x * n] = 1;", {(1, 7)}),
        ("a[u * x] = 1;", {(0, 5)}),
        ("a[mul24(x, n)] = 1;", {(1, 7)}),
        ("a[x * (n + 9)] = 1;", {(1, 16)}),
        ("a[x * (n + 10)] = 1;", set()),  # too far apart
        ("a[x * (n - 7)] = 1;", set()),
        ("a[n * u] = x;", set()),  # nothing differs
        ("a[x * 3] = n;", set()),  # the code says so itself
        ("a[x * a[0]] = 1;", set()),
        ("a[x * (x < n ? 1 : 1)] = 1;", set()),
        ("for (int i = 1; i < n; i++) a[x * i] = 1;", set()),
    ],
)
def test_which_factors_are_known(body, found):
    assert factors(body) == found
