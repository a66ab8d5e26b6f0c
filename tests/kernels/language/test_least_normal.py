"""Denormals where a launch flushes them, by name: the same bits on every processor, in vectors and work-item by work-item."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

LEAST, DENORMAL = 2.0**-126, 1e-40
BELOW = LEAST - 2.0**-149
"""The largest denormal."""
SINGLE = {
    "a product that rounds up to the least normal": ("x * y", (1 + 2.0**-23) * 2.0**-63, (1 - 2.0**-23) * 2.0**-63, LEAST),
    "a product that lies below": ("x * y", (1 - 2.0**-23) * 2.0**-63, 2.0**-63, 0.0),
    "a negative product that rounds up": ("x * y", -(1 + 2.0**-23) * 2.0**-63, (1 - 2.0**-23) * 2.0**-63, -LEAST),
    "a negative product that lies below": ("x * y", -(2.0**-64), 2.0**-63, -0.0),
    "a product of zero": ("x * y", 0.0, -1.0, -0.0),
    "a fused sum a quarter below": ("fma(x, -y, 0x1p-126f)", 2.0**-76, 2.0**-76, LEAST),
    "a fused sum an eighth below": ("fma(x, -y, 0x1p-126f)", 2.0**-77, 2.0**-76, LEAST),
    "a fused sum three eighths below": ("fma(x, -y, 0x1p-126f)", 1.5 * 2.0**-75, 2.0**-76, 0.0),
    "a fused sum one step below": ("fma(x, -y, 0x1p-126f)", 2.0**-75, 2.0**-74, 0.0),
    "a fused sum of zero": ("fma(x, y, -1.0f)", 1.0, 1.0, 0.0),
    "a quotient below": ("x / y", BELOW * 2.0**24, 2.0**24, 0.0),
    "a sum of normal numbers": ("x - y", 1.5 * LEAST, LEAST, 0.0),
    "a root of a denormal": ("sqrt(x) + 0.0f * y", DENORMAL, 0.0, 0.0),
    "the lesser is flushed": ("min(x, y)", DENORMAL, 1.0, 0.0),
    "the greater is flushed": ("max(x, y)", -DENORMAL, -1.0, -0.0),
    "fmin flushes": ("fmin(x, y)", DENORMAL, 1.0, 0.0),
    "fmax flushes": ("fmax(x, y)", -DENORMAL, -1.0, -0.0),
    "the greater of two denormals": ("fmax(x, y)", DENORMAL, 2 * DENORMAL, 0.0),
    "the one of greater size is flushed": ("maxmag(x, y)", DENORMAL, 2 * DENORMAL, 0.0),
    "the one of less size is flushed": ("minmag(x, y)", 1.0, -DENORMAL, -0.0),
    "the one of greater size": ("maxmag(x, y)", DENORMAL, -LEAST, -LEAST),
    "the fraction of a denormal": ("({ int n; float f = frexp(x, &n); as_float(as_int(f) + n); })", -DENORMAL, 0.0, -0.0),
    "the neighbour of a denormal": ("nextafter(x, y)", BELOW, 1.0, LEAST),
    "the neighbour of a negative denormal": ("nextafter(x, y)", -BELOW, -1.0, -LEAST),
    "the neighbour towards a denormal": ("nextafter(x, y)", -LEAST, -DENORMAL, -BELOW),
    "the neighbour of a denormal across zero": ("nextafter(x, y)", 2.0**-149, -1.0, 0.0),
    "the neighbour of zero": ("nextafter(x, y)", 0.0, -DENORMAL, -(2.0**-149)),
    "the neighbour towards the same": ("nextafter(x, y)", 0.0, -0.0, -0.0),
    "clamp flushes": ("clamp(x, y, 1.0f)", DENORMAL, -1.0, 0.0),
    "the least normal is the lesser": ("min(x, y)", LEAST, 1.0, LEAST),
    "a choice moves bits": ("x < y ? x : y", DENORMAL, 1.0, DENORMAL),
    "a choice of the greater": ("x > y ? x : y", -DENORMAL, -1.0, -DENORMAL),
    "select moves bits": ("select(y, x, x < y)", DENORMAL, 1.0, DENORMAL),
    "a branch moves bits": ("({ float r = y; if (x < y) r = x; r; })", DENORMAL, 1.0, DENORMAL),
    "a sign moves bits": ("fabs(x) + 0.0f * y == 0.0f ? -x : y", DENORMAL, 1.0, -DENORMAL),
    "denormals compare as zero": ("x == y ? 1.0f : 2.0f", DENORMAL, 0.0, 1.0),
}
TINY = 2.0**-24
"""The least half."""
HALVES = {
    "the greater": ("fmax(x, y)", 3 * TINY, 5 * TINY, 5 * TINY),
    "the lesser": ("fmin(x, y)", -3 * TINY, 5 * TINY, -3 * TINY),
    "max": ("max(x, y)", -3 * TINY, -5 * TINY, -3 * TINY),
    "min": ("min(x, y)", 3 * TINY, 0.0, 0.0),
    "clamp": ("clamp(x, (half)0, y)", 7 * TINY, 5 * TINY, 5 * TINY),
    "a number beside a NaN": ("fmax(x, y)", np.nan, -5 * TINY, -5 * TINY),
    "the one of greater size": ("maxmag(x, y)", 3 * TINY, -5 * TINY, -5 * TINY),
    "the neighbour": ("nextafter(x, y)", 3 * TINY, 1.0, 4 * TINY),
    "a comparison takes them for zeros": ("(half)(x == y)", 3 * TINY, -5 * TINY, 1.0),
}
"""Where denormal halves are flushed, a choice of the built-in library still tells them apart."""
DOUBLE = {
    "a double that rounds up to the least normal float": (LEAST - 2.0**-152, LEAST),
    "a double a quarter below": (LEAST - 2.0**-151, LEAST),
    "a double just below a quarter": (np.nextafter(LEAST - 2.0**-151, 0), 0.0),
    "a double one step below": (BELOW, 0.0),
    "a negative double that rounds up": (-(LEAST - 2.0**-152), -LEAST),
    "a negative double one step below": (-BELOW, -0.0),
}


def run(source: str, inputs: list[np.ndarray], flush: bool, local: int) -> np.ndarray:
    """The floats that a kernel of 16 work-items writes."""
    device = adreno_sim.open_device("sim:reference", checks="off", threads=1, flush_denormals=flush)
    views = [device.view(device.allocate(one.nbytes), BufferSpec(one.nbytes, one.dtype.name)) for one in inputs]
    result = device.view(device.allocate(64 * len(SINGLE)), BufferSpec(64 * len(SINGLE), "float32"))
    for view, one in zip(views, inputs, strict=True):
        device.write(view, one)
    assert not device.launch(device.build(source)["k"], (16,), (local,), [*views, result]).findings
    return device.read(result).reshape(-1, 16)


def same_bits(found: np.ndarray, expected: list[float]) -> list[int]:
    """Numbers of the rows that differ from what is expected."""
    wanted = np.array(expected, np.float32).view(np.uint32)
    return [n for n, row in enumerate(found[: len(expected)].view(np.uint32)) if (row != wanted[n]).any()]


@pytest.mark.parametrize("local", [16, 1])
def test_results_of_floats(local):
    lines = "".join(
        f"{{ float x = a[{2 * n}], y = a[{2 * n + 1}]; r[{n} * 16 + i] = {case[0]}; }}\n"
        for n, case in enumerate(SINGLE.values())
    )
    source = f"kernel void k(global const float *a, global float *r) {{ int i = get_global_id(0);\n{lines}}}"
    values = np.array([value for case in SINGLE.values() for value in case[1:3]], np.float32)
    wrong = same_bits(run(source, [values], True, local), [case[3] for case in SINGLE.values()])
    assert not [list(SINGLE)[n] for n in wrong]
    kept = run(source, [values], False, local)
    x, y = values[0:4:2], values[1:4:2]
    assert (kept[:2, 0] == (x.astype(np.float64) * y).astype(np.float32)).all()
    assert kept[1, 0] > 0


@pytest.mark.parametrize("local", [16, 1])
def test_choices_of_halves(local):
    lines = "".join(
        f"{{ half x = vload_half({2 * n}, h), y = vload_half({2 * n + 1}, h); r[{n} * 16 + i] = {case[0]}; }}\n"
        for n, case in enumerate(HALVES.values())
    )
    head = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global const ushort *a, global float *r)"
    source = f"{head} {{ int i = get_global_id(0); global const half *h = (global const half *)a;\n{lines}}}"
    values = np.array([value for case in HALVES.values() for value in case[1:3]], np.float16).view(np.uint16)
    wrong = same_bits(run(source, [values], True, local), [case[3] for case in HALVES.values()])
    assert not [list(HALVES)[n] for n in wrong]


@pytest.mark.parametrize("local", [16, 1])
def test_doubles_that_become_floats(local):
    lines = "".join(f"r[{n} * 16 + i] = (float)a[{n}];\n" for n in range(len(DOUBLE)))
    head = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nkernel void k(global const double *a, global float *r)"
    source = f"{head} {{ int i = get_global_id(0);\n{lines}}}"
    values = np.array([case[0] for case in DOUBLE.values()])
    wrong = same_bits(run(source, [values], True, local), [case[1] for case in DOUBLE.values()])
    assert not [list(DOUBLE)[n] for n in wrong]
    kept = run(source, [values], False, local)
    assert (kept[: len(values), 0] == values.astype(np.float32)).all()
