# ruff: noqa: E501 (kernel sources read better unbroken)
"""Half precision against NumPy (one rounding per operation) and Intel's OpenCL; conversions with every rounding mode."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer

_RNG = np.random.default_rng(5)
PRAGMA = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"


def halves(count: int) -> np.ndarray:
    """Random patterns, special values first."""
    patterns = _RNG.integers(0, 65536, count).astype(np.uint16)
    special = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3555, 0x3800, 0x6400]
    patterns[: len(special)] = special
    return patterns.view(np.float16)


def operands(shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Two of 512 halves, not both NaN: which of two NaNs a sum or product gives is LLVM's choice where halves are computed as floats."""
    a, b = halves(512), np.roll(halves(512), shift)
    b[np.isnan(a) & np.isnan(b)] = 1
    return a, b


def same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal bit by bit, any NaN for any NaN."""
    bits = np.uint16 if got.dtype == np.float16 else np.uint32
    both_nan = np.isnan(got) & np.isnan(want)
    wrong = np.flatnonzero((got.view(bits) != want.view(bits)) & ~both_nan)
    assert not len(wrong), (wrong[:5], got[wrong[:5]], want[wrong[:5]])


ARITHMETIC = (
    PRAGMA
    + """__kernel void k(__global const half4* a, __global const half4* b, __global half4* r, __global short4* t) {
  size_t i = get_global_id(0), n = get_global_size(0); half4 x = a[i], y = b[i];
  r[i] = x + y; r[n+i] = x - y; r[2*n+i] = x * y; r[3*n+i] = x / y; r[4*n+i] = -x; r[5*n+i] = sqrt(fabs(x)); r[6*n+i] = x * y + x;
  r[7*n+i] = fma(x, y, x); r[8*n+i] = floor(x); r[9*n+i] = rint(x);
  t[i] = x < y; t[n+i] = isequal(x, y); t[2*n+i] = isnan(x); t[3*n+i] = (short4)(x.x > y.x, x.y >= y.y, x.z != y.z, x.w == y.w);
}"""
)


def test_arithmetic_rounds_once_per_operation(engine):
    a, b = operands(37)
    args = [Buffer(a), Buffer(b), Buffer(np.zeros(5120, np.float16)), Buffer(np.zeros(2048, np.int16))]
    out = engine.run(ARITHMETIC, "k", [128], [16], args).outputs
    r = out[2].reshape(10, 512)
    with np.errstate(all="ignore"):
        wide = (a.astype(np.float64) * b.astype(np.float64) + a.astype(np.float64)).astype(np.float16)
        expected = [a + b, a - b, a * b, a / b, -a, np.sqrt(np.abs(a)), (a * b) + a, wide, np.floor(a), np.rint(a)]
        truths = [a < b, a == b, np.isnan(a)]
    for got, want in zip(r, expected, strict=True):
        same(got, want)
    for got, want in zip(out[3].reshape(4, 512)[:3], truths, strict=True):
        np.testing.assert_array_equal(got, -want.astype(np.int16))


def test_arithmetic_agrees_with_intel(engine, intel):
    a, b = operands(11)
    source = ARITHMETIC.replace("r[6*n+i] = x * y + x;", "r[6*n+i] = x;")  # how that contracts is a driver's choice
    args = [Buffer(a), Buffer(b), Buffer(np.zeros(5120, np.float16)), Buffer(np.zeros(2048, np.int16))]
    ours = engine.run(source, "k", [128], [16], args).outputs
    theirs = intel.run(source, "-cl-std=CL2.0", "k", [128], [16], args)
    same(ours[2], theirs[2])
    np.testing.assert_array_equal(ours[3], theirs[3])


def test_every_half_converts_exactly_both_ways(engine):
    source = (
        PRAGMA
        + """__kernel void k(__global const half* a, __global float* f, __global half* h) {
      size_t i = get_global_id(0); f[i] = vload_half(i, a); h[i] = convert_half(convert_float(a[i])); }"""
    )
    a = np.arange(65536, dtype=np.uint16).view(np.float16)
    out = engine.run(
        source, "k", [65536], [256], [Buffer(a), Buffer(np.zeros(65536, np.float32)), Buffer(np.zeros(65536, np.float16))]
    ).outputs
    same(out[1], a.astype(np.float32))
    same(out[2], a)


@pytest.mark.parametrize("mode", ["", "_rte", "_rtz", "_rtp", "_rtn"])
@pytest.mark.parametrize("wide", ["float", "double"])
def test_rounding_to_half(engine, mode, wide):
    dtype = np.dtype({"float": "f4", "double": "f8"}[wide])
    base = halves(256).astype(dtype)
    with np.errstate(all="ignore"):
        steps = np.concatenate(
            [
                base,
                np.nextafter(base, dtype.type(np.inf)),
                np.nextafter(base, dtype.type(-np.inf)),
                base * dtype.type(1.00048828125),
            ]
        )
    steps = np.concatenate([steps, np.array([65519.99, 65520, 1e30, -1e30, 2.98e-8, 2.99e-8, 1e-30, -1e-30], dtype)])
    count = len(steps)
    source = f"{PRAGMA}__kernel void k(__global const {wide}* a, __global half* r, __global half* s) {{ size_t i = get_global_id(0); r[i] = convert_half{mode}(a[i]); vstore_half{mode}(a[i], i, s); }}"
    zeros = np.zeros(count, np.float16)
    out = engine.run(source, "k", [count], [1], [Buffer(steps), Buffer(zeros), Buffer(zeros)]).outputs
    with np.errstate(all="ignore"):
        near = steps.astype(np.float16)
        exact = near.astype(np.float64)
        up = np.where(exact < steps, np.nextafter(near, np.float16(np.inf)), near)
        down = np.where(exact > steps, np.nextafter(near, np.float16(-np.inf)), near)
        toward = np.where(np.signbit(steps), up, down)
    want = {"": near, "_rte": near, "_rtp": up, "_rtn": down, "_rtz": toward}[mode].astype(np.float16)
    values = [(g, w) for g, w in zip(out[1], want, strict=True) if not (np.isnan(g) and np.isnan(w))]
    assert all(g == w for g, w in values), [(g, w) for g, w in values if g != w][:5]
    same(out[1], out[2])


def test_denormal_halves_flush_in_arithmetic_only(engine):
    source = (
        PRAGMA
        + """__kernel void k(__global const half* a, __global half* r) {
      size_t i = get_global_id(0), n = get_global_size(0); r[i] = a[i] + (half)0; r[n+i] = a[i]; r[2*n+i] = a[i] * (half)0.001h; }"""
    )
    a = np.array([6e-8, -3e-5, 1e-3, 0.01], np.float16)
    out = (
        engine.run(source, "k", [4], [2], [Buffer(a), Buffer(np.zeros(12, np.float16))], flush_denormals=True)
        .outputs[1]
        .reshape(3, 4)
    )
    same(out[0], np.array([0, 0, 1e-3, 0.01], np.float16))
    same(out[1], a)
    assert out[2].tolist() == [0, 0, 0, 0]  # every product is below the least normal half


def test_vectors_of_three_and_aligned_halves(engine):
    source = (
        PRAGMA
        + """__kernel void k(__global const half* a, __global float* r, __global half* s) {
      float3 v = vload_half3(1, a); float3 w = vloada_half3(1, a); vstore3(v, 0, r); vstore3(w, 1, r);
      vstore_half3(v, 1, s); vstorea_half3(w * 2.0f, 1, s + 8); }"""
    )
    a = np.arange(16).astype(np.float16)
    out = engine.run(
        source, "k", [1], [1], [Buffer(a), Buffer(np.zeros(6, np.float32)), Buffer(np.zeros(16, np.float16))]
    ).outputs
    assert out[1].tolist() == [3, 4, 5, 4, 5, 6]
    assert out[2].tolist() == [0, 0, 0, 3, 4, 5, 0, 0, 0, 0, 0, 0, 8, 10, 12, 0]


WHOLE = (
    PRAGMA
    + """__kernel void k(__global const uint* u, __global const half* x, __global half* r) {
  size_t i = get_global_id(0), n = get_global_size(0); uint v = u[i];
  half a = convert_half(v & 15), b = a - (half)7, c = convert_half((int)(v & 2047) - 1024), d = convert_half((int)(v & 4095) - 2048);
  half e = convert_half(v), f = (half)(uchar)v, z = b * (half)0;
  r[i] = b; r[n+i] = b * x[i]; r[2*n+i] = c + d; r[3*n+i] = c * b; r[4*n+i] = d + d + (half)1; r[5*n+i] = e - (half)7;
  r[6*n+i] = f * f; r[7*n+i] = z; r[8*n+i] = (half)1 / z; r[9*n+i] = a / (half)3; r[10*n+i] = (c - d) * b + x[i];
}"""
)


@pytest.mark.parametrize("local", [16, 1], ids=["vectors", "scalars"])
@pytest.mark.parametrize("flush", [False, True], ids=["", "flushed"])
def test_whole_numbers_are_rounded_where_halves_end(engine, local, flush):
    """Small ones need no rounding, and are not to lose it where their sums and products do, nor the sign of a zero."""
    u = np.concatenate([np.arange(64), _RNG.integers(0, 1 << 32, 64 * 15)]).astype(np.uint32)
    x = (_RNG.standard_normal(u.size) * 100).astype(np.float16)
    x[::3] = np.exp2(_RNG.uniform(-25, -12, x[::3].size)).astype(np.float16)  # about half of them denormal
    zeros = np.zeros(11 * u.size, np.float16)
    out = engine.run(WHOLE, "k", [u.size], [local], [Buffer(u), Buffer(x), Buffer(zeros)], flush_denormals=flush).outputs[2]
    half = np.float16
    x = np.where(flush & (np.abs(x) < 2.0**-14), half(0), x)
    with np.errstate(all="ignore"):
        a, b = (u & 15).astype(half), (u & 15).astype(half) - half(7)
        c, d = ((u & 2047).astype(int) - 1024).astype(half), ((u & 4095).astype(int) - 2048).astype(half)
        e, f, z = u.astype(np.float64).astype(half), (u & 255).astype(half), b * half(0)
        expected = [b, b * x, c + d, c * b, d + d + half(1), e - half(7), f * f, z, half(1) / z, a / half(3), (c - d) * b + x]
    for got, want in zip(out.reshape(11, -1), expected, strict=True):
        same(got, want)
