# ruff: noqa: E501 (kernel sources read better unbroken)
"""Integer and float arithmetic, conversions and relations against NumPy and another implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Buffer, Scalar

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

INTS = {"char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
        "long": "int64", "ulong": "uint64"}  # fmt: skip
_RNG = np.random.default_rng(7)


def samples(dtype: str, count: int = 64) -> np.ndarray:
    """Random values with the extremes and small numbers among them."""
    limits = np.iinfo(dtype)
    special = [limits.min, limits.max, 0, 1, 2, 3, limits.max - 1, limits.min + 1, limits.max // 2]
    values = _RNG.integers(limits.min, limits.max, count, dtype, endpoint=True)
    values[: len(special)] = special
    if limits.min < 0:
        values[len(special)] = -1
    return values


def special_floats() -> np.ndarray:
    """Every kind of float that conversions and comparisons may meet."""
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.5, 128.0, 255.5, 256.0, 32767.5, 65519.9, 65520.0, 2.0**24 + 2,
             2147483520.0, 2147483648.0, 4294967040.0, 4294967296.0, 9.2e18, 1.9e19, 6e-8, 3e-8, 1e-40, 3.4e38,
             np.inf, -np.inf, np.nan]  # fmt: skip
    return np.concatenate([np.array(edges, np.float32), -np.array(edges, np.float32), _RNG.normal(0, 100, 68).astype(np.float32)])


@pytest.mark.parametrize("name", INTS)
def test_wrapping_and_bitwise(engine, name):
    dtype = INTS[name]
    a, b = samples(dtype), samples(dtype)[::-1].copy()
    source = f"""__kernel void k(__global const {name}* a, __global const {name}* b, __global {name}* r) {{
      size_t i = get_global_id(0), n = get_global_size(0); {name} x = a[i], y = b[i];
      r[i] = x + y; r[n + i] = x - y; r[2*n + i] = x * y; r[3*n + i] = (x & y) ^ (x | ~y); r[4*n + i] = x << (y & 7); r[5*n + i] = x >> (y & 7);
    }}"""
    out = engine.run(source, "k", [64], [16], [Buffer(a), Buffer(b), Buffer(np.zeros(384, dtype))]).outputs[2].reshape(6, 64)
    with np.errstate(over="ignore"):
        low = (b & dtype_of(dtype, 7)).astype(dtype)
        expected = [a + b, a - b, a * b, (a & b) ^ (a | ~b), a << low, a >> low]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def dtype_of(dtype: str, value: int) -> np.generic:
    return np.dtype(dtype).type(value)


@pytest.mark.parametrize("name", INTS)
def test_division_never_traps(engine, name):
    dtype = INTS[name]
    a, b = samples(dtype), np.roll(samples(dtype), 3)
    b[20:24] = 0
    a[30], b[30] = np.iinfo(dtype).min, dtype_of(dtype, -1 if np.iinfo(dtype).min else 1)
    source = f"""__kernel void k(__global const {name}* a, __global const {name}* b, __global {name}* q, __global {name}* r) {{
      size_t i = get_global_id(0); q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }}"""
    zeros = np.zeros(64, dtype)
    result = engine.run(source, "k", [64], [8], [Buffer(a), Buffer(b), Buffer(zeros), Buffer(zeros)])
    quotient, rest = [], []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        q = 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        quotient.append(q)
        rest.append(0 if y == 0 else x - q * y)
    wrap = 1 << (8 * np.dtype(dtype).itemsize)
    assert [int(v) % wrap for v in result.outputs[2]] == [v % wrap for v in quotient]
    assert result.outputs[3].tolist() == rest
    zeros, overflows = int((b == 0).sum()), int(((a == np.iinfo(dtype).min) & (b == -1)).sum())
    by_kind = [("division-by-zero", zeros)] + ([("division-overflow", overflows)] if name in ("int", "long") else [])
    found = sorted((f.kind.label, f.count) for f in result.findings)  # char and short are divided as int, which has room
    assert found == sorted(by_kind * 2)  # of the quotient, and of the remainder


def test_vector_division_by_zero_is_one_finding_per_item(engine):
    source = "__kernel void k(__global int4* a, __global int4* b) { a[0] = a[0] / b[0]; }"
    a, b = np.array([8, 9, -8, np.iinfo(np.int32).min], np.int32), np.array([2, 0, 3, -1], np.int32)
    result = engine.run(source, "k", [1], [1], [Buffer(a), Buffer(b)])
    assert result.outputs[0].tolist() == [4, 0, -2, np.iinfo(np.int32).min]
    assert result.kinds() == ["division-by-zero", "division-overflow"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), min_size=1, max_size=32))
def test_shift_amounts_count_modulo_the_width(engine, pairs):
    source = """__kernel void k(__global const uint* a, __global const uint* s, __global uint* l, __global uint* r, __global int* t) {
      size_t i = get_global_id(0); l[i] = a[i] << s[i]; r[i] = a[i] >> s[i]; t[i] = (int)a[i] >> s[i]; }"""
    a, s = (np.array([p[k] for p in pairs], np.uint32) for k in range(2))
    zeros = np.zeros(len(pairs), np.uint32)
    result = engine.run(
        source, "k", [len(pairs)], [1], [Buffer(a), Buffer(s), Buffer(zeros), Buffer(zeros), Buffer(zeros.view(np.int32))]
    )
    out, wide = result.outputs, int((s >= 32).sum())
    assert [(f.kind.label, f.count) for f in result.findings] == ([("overwide-shift", wide)] * 3 if wide else [])
    np.testing.assert_array_equal(out[2], a << (s & 31))
    np.testing.assert_array_equal(out[3], a >> (s & 31))
    np.testing.assert_array_equal(out[4], a.view(np.int32) >> (s & 31).astype(np.int32))


@pytest.mark.parametrize(
    "between", ["by = (int)far; barrier(CLK_LOCAL_MEM_FENCE);", "for (int j = 0; j <= (i & 3); j++) { by = (int)far; far += n; }"]
)
def test_shift_amounts_from_before_a_barrier_or_of_a_loop(engine, between):
    """The check looks at the amount before it was brought to 32 bits, which nothing else does where the shift is."""
    source = f"""__kernel void k(__global int* r, long n) {{
      int i = get_local_id(0), by;
      long far = n * get_group_id(0) + i;
      {between}
      r[get_global_id(0)] = 1 << by;
    }}"""
    result = engine.run(source, "k", [16], [8], [Buffer(np.zeros(16, np.int32)), Scalar(np.int64(40))])
    rounds = [0 if "barrier" in between else i % 4 for i in range(16)]
    amounts = np.array([40 * (i // 8) + i % 8 + 40 * rounds[i] for i in range(16)])
    np.testing.assert_array_equal(result.outputs[0], np.int32(1) << (amounts % 32).astype(np.int32))
    assert [(f.kind.label, f.count) for f in result.findings] == [("overwide-shift", int((amounts >= 32).sum()))]


@pytest.mark.each_value
@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("mode", ["", "_rte", "_rtz", "_rtp", "_rtn"])
def test_float_to_integer_conversions(engine, name, mode):
    source = f"__kernel void k(__global const float* a, __global {name}* r) {{ size_t i = get_global_id(0); r[i] = convert_{name}_sat{mode}(a[i]); }}"
    a = special_floats()
    dtype = INTS[name]
    out = engine.run(source, "k", [len(a)], [1], [Buffer(a), Buffer(np.zeros(len(a), dtype))]).outputs[1]
    rounding = {"": np.trunc, "_rtz": np.trunc, "_rte": np.rint, "_rtp": np.ceil, "_rtn": np.floor}[mode]
    limits = np.iinfo(dtype)
    expected = []
    for value in rounding(a.astype(np.float64)):
        expected.append(
            0 if np.isnan(value) else limits.max if value >= limits.max else limits.min if value <= limits.min else int(value)
        )
    assert out.tolist() == expected


ROUND = {"": np.trunc, "_rtz": np.trunc, "_rte": np.rint, "_rtp": np.ceil, "_rtn": np.floor}


@pytest.mark.each_value
@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("source_type", ["half", "float", "double"])
def test_conversions_out_of_range_are_reported(engine, name, source_type):
    """Around both ends of the range, to every side of them, and what is no number; a cast and each rounding mode."""
    dtype, limits = {"half": np.float16, "float": np.float32, "double": np.float64}[source_type], np.iinfo(INTS[name])
    with np.errstate(over="ignore"):
        ends = np.array([limits.min - 1, limits.min, limits.max, limits.max + 1, 0, 1], np.float64).astype(dtype)
    near = [ends, np.nextafter(ends, dtype(-np.inf)), np.nextafter(ends, dtype(np.inf))]
    halves = [(ends.astype(np.float64) + step).astype(dtype) for step in (-0.75, -0.5, 0.5, 0.75)]
    a = np.concatenate([*near, *halves, np.array([np.nan, np.inf, -np.inf], dtype)])
    modes = ["", "_rte", "_rtz", "_rtp", "_rtn"]
    body = "\n".join(f"r[{n} * n + i] = convert_{name}{mode}(a[i]);" for n, mode in enumerate(modes))
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    __kernel void k(__global const {source_type}* a, __global {name}* r) {{ size_t i = get_global_id(0), n = get_global_size(0);
    r[5 * n + i] = ({name})a[i];
    {body} }}"""
    result = engine.run(source, "k", [len(a)], [1], [Buffer(a), Buffer(np.zeros(6 * len(a), INTS[name]))])
    wanted = []
    for line, mode in enumerate(["", *modes], start=3):
        whole = ROUND[mode](a.astype(np.float64))
        bad = [bool(np.isnan(v) or np.isinf(v)) or not limits.min <= int(v) <= limits.max for v in whole]
        wanted.append(("undefined-conversion", line, sum(bad)))
    assert [(f.kind.label, f.line, f.count) for f in result.findings] == wanted


def test_saturating_conversions_and_library_functions_are_silent(engine):
    source = """__kernel void k(__global const float* a, __global int* r, __global float* f) { int i = get_global_id(0);
      r[i] = convert_int_sat(a[i]) ^ convert_uchar_sat_rte(a[i]);
      f[i] = exp(a[i]) + sin(a[i]) + pow(a[i], 3.7f) + fmod(a[i], 0.3f) + ldexp(a[i], 400); }"""
    a = special_floats()
    args = [Buffer(a), Buffer(np.zeros(len(a), np.int32)), Buffer(np.zeros(len(a), np.float32))]
    assert not engine.run(source, "k", [len(a)], [1], args).findings


@pytest.mark.each_value
@pytest.mark.parametrize("mode", ["", "_rte", "_rtz", "_rtp", "_rtn"])
@pytest.mark.parametrize("name", ["int", "uint", "long", "ulong"])
def test_integer_to_float_rounding(engine, name, mode):
    source = f"__kernel void k(__global const {name}* a, __global float* r) {{ size_t i = get_global_id(0); r[i] = convert_float{mode}(a[i]); }}"
    a = samples(INTS[name])
    out = engine.run(source, "k", [64], [8], [Buffer(a), Buffer(np.zeros(64, np.float32))]).outputs[1]
    for value, got in zip(a.tolist(), out, strict=True):
        near = np.float32(value)
        exact = int(near)
        down = near if exact <= value else np.nextafter(near, np.float32(-np.inf))
        up = near if exact >= value else np.nextafter(near, np.float32(np.inf))
        want = {"": near, "_rte": near, "_rtp": up, "_rtn": down, "_rtz": down if value >= 0 else up}[mode]
        assert got == want, (value, mode)


@pytest.mark.parametrize(
    "pair", [("int", "uchar"), ("uint", "char"), ("long", "int"), ("ulong", "short"), ("char", "ulong"), ("short", "ushort")]
)
def test_saturating_integer_conversions(engine, pair):
    source = f"""__kernel void k(__global const {pair[0]}* a, __global {pair[1]}* r, __global {pair[1]}* s) {{
      size_t i = get_global_id(0); r[i] = convert_{pair[1]}(a[i]); s[i] = convert_{pair[1]}_sat(a[i]); }}"""
    a, dtype = samples(INTS[pair[0]]), INTS[pair[1]]
    zeros = np.zeros(64, dtype)
    out = engine.run(source, "k", [64], [8], [Buffer(a), Buffer(zeros), Buffer(zeros)]).outputs
    limits = np.iinfo(dtype)
    np.testing.assert_array_equal(out[1], a.astype(dtype))
    assert out[2].tolist() == [min(max(v, limits.min), limits.max) for v in a.tolist()]


INTEGER_FUNCTIONS = """
  r[0*n+i] = abs(x); r[1*n+i] = abs_diff(x, y); r[2*n+i] = add_sat(x, y); r[3*n+i] = sub_sat(x, y); r[4*n+i] = hadd(x, y);
  r[5*n+i] = rhadd(x, y); r[6*n+i] = clz(x); r[7*n+i] = mad_hi(x, y, z); r[8*n+i] = mad_sat(x, y, z); r[9*n+i] = max(x, y);
  r[10*n+i] = min(x, y); r[11*n+i] = mul_hi(x, y); r[12*n+i] = rotate(x, y); r[13*n+i] = popcount(x);
  r[14*n+i] = clamp(x, min(y, z), max(y, z)); r[15*n+i] = bitselect(x, y, z);
"""


MAD_SAT = 8
"""The row that is computed here: Intel's CPU OpenCL wraps some of mad_sat's results."""


def saturated_products(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[int]:
    """x * y + z in whole numbers, then the nearest that the type holds."""
    limits = np.iinfo(x.dtype)
    exact = [a * b + c for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    return [min(max(value, limits.min), limits.max) for value in exact]


@pytest.mark.each_value
@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("lanes", ["", "4"])
def test_integer_functions_agree_with_another_implementation(engine, judge, name, lanes):
    dtype = INTS[name]
    type = name + lanes
    source = f"""__kernel void k(__global const {type}* a, __global const {type}* b, __global const {type}* c, __global {type}* r) {{
      size_t i = get_global_id(0), n = get_global_size(0); {type} x = a[i], y = b[i], z = c[i]; {INTEGER_FUNCTIONS.replace("abs(x)", f"convert_{type}(abs(x))").replace("abs_diff(x, y)", f"convert_{type}(abs_diff(x, y))")} }}"""
    args = [
        Buffer(samples(dtype)),
        Buffer(samples(dtype)[::-1].copy()),
        Buffer(np.roll(samples(dtype), 5)),
        Buffer(np.zeros(64 * 16, dtype)),
    ]
    size = [64 // int(lanes or 1)]
    ours = engine.run(source, "k", size, [8], args)
    theirs = judge.run(source, "-cl-std=CL2.0", "k", size, [8], args)
    expected = theirs[3].reshape(16, 64).copy()
    expected[MAD_SAT] = saturated_products(*(arg.array for arg in args[:3]))
    for row, (got, want) in enumerate(zip(ours.outputs[3].reshape(16, 64), expected, strict=True)):
        np.testing.assert_array_equal(got, want, err_msg=f"row {row}")


FLOAT_SOURCE = """
__kernel void k(__global const float4* a, __global const float4* b, __global float4* r, __global int4* t) {
  size_t i = get_global_id(0), n = get_global_size(0); float4 x = a[i], y = b[i];
  r[i] = x + y; r[n+i] = x * y - x; r[2*n+i] = x / y; r[3*n+i] = fmin(x, y); r[4*n+i] = fmax(x, y); r[5*n+i] = floor(x);
  r[6*n+i] = ceil(x); r[7*n+i] = rint(x); r[8*n+i] = trunc(x); r[9*n+i] = round(x); r[10*n+i] = fabs(x);
  r[11*n+i] = copysign(x, y); r[12*n+i] = sqrt(fabs(x)); r[13*n+i] = fma(x, y, x); r[14*n+i] = select(min(x, y), x, isunordered(x, y));
  r[15*n+i] = select(max(x, 2.5f), x, isnan(x)); r[16*n+i] = select(x, y, isless(x, y)); r[17*n+i] = bitselect(x, y, as_float4((int4)(0xff00ff)));
  t[i] = isequal(x, y); t[n+i] = isnotequal(x, y); t[2*n+i] = isgreater(x, y); t[3*n+i] = islessgreater(x, y);
  t[4*n+i] = isnan(x); t[5*n+i] = isinf(x); t[6*n+i] = isfinite(x); t[7*n+i] = isnormal(x); t[8*n+i] = signbit(x);
  t[9*n+i] = isunordered(x, y); t[10*n+i] = (int4)(any(isless(x, y)), all(isfinite(x)), isnan(x.x), x.x < y.x);
  t[11*n+i] = shuffle(as_int4(x), (uint4)(3, 1, 7, 0)); t[12*n+i] = x < y; t[13*n+i] = (x == y) ? as_int4(x) : as_int4(y);
}"""


SHUFFLE = 11
"""The row that is computed here: Intel's CPU OpenCL does not take an element of a shuffle's mask modulo the width."""


def test_float_functions_agree_with_another_implementation(engine, judge):
    a = special_floats()
    b = np.roll(a, 7)
    args = [Buffer(a), Buffer(b), Buffer(np.zeros(128 * 18, np.float32)), Buffer(np.zeros(128 * 14, np.int32))]
    ours = engine.run(FLOAT_SOURCE, "k", [32], [8], args)
    theirs = judge.run(FLOAT_SOURCE, "-cl-std=CL2.0", "k", [32], [8], args)
    for row, (got, want) in enumerate(zip(ours.outputs[2].reshape(18, 128), theirs[2].reshape(18, 128), strict=True)):
        np.testing.assert_array_equal(got, want, err_msg=f"float row {row}")
    expected = theirs[3].reshape(14, 128).copy()
    expected[SHUFFLE] = a.view(np.int32).reshape(-1, 4)[:, [3, 1, 7 % 4, 0]].reshape(-1)
    for row, (got, want) in enumerate(zip(ours.outputs[3].reshape(14, 128), expected, strict=True)):
        np.testing.assert_array_equal(got, want, err_msg=f"int row {row}")


def test_contraction_is_the_callers_choice(engine):
    source = (
        "__kernel void k(__global float* a, __global const float* b) { size_t i = get_global_id(0); a[i] = b[i] * b[i] + a[i]; }"
    )
    b = _RNG.normal(size=64).astype(np.float32)
    a = -(b * b)
    exact = (b.astype(np.float64) * b.astype(np.float64) + a.astype(np.float64)).astype(np.float32)
    fused = engine.run(source, "k", [64], [8], [Buffer(a), Buffer(b)], contract="on").outputs[0]
    apart = engine.run(source, "k", [64], [8], [Buffer(a), Buffer(b)], contract="off").outputs[0]
    np.testing.assert_array_equal(fused, exact)
    assert not apart.any()
    assert fused.any()


def test_denormals_are_kept_or_flushed_but_moves_never_flush(engine):
    source = """__kernel void k(__global const float* a, __global float* r) {
      size_t i = get_global_id(0); r[2*i] = a[i] * 1.0f + 0.0f; r[2*i+1] = as_float(as_int(a[i])); }"""
    a = np.array([1e-40, -1e-45, 1.0, 2e-38], np.float32)
    kept = engine.run(source, "k", [4], [2], [Buffer(a), Buffer(np.zeros(8, np.float32))], flush_denormals=False).outputs[1]
    flushed = engine.run(source, "k", [4], [2], [Buffer(a), Buffer(np.zeros(8, np.float32))], flush_denormals=True).outputs[1]
    np.testing.assert_array_equal(kept.reshape(4, 2), np.stack([a, a], 1))
    np.testing.assert_array_equal(flushed[0::2], np.array([0, -0.0, 1, 2e-38], np.float32))
    np.testing.assert_array_equal(flushed[1::2], a)
    assert np.float32(1e-40) * np.float32(1) != 0  # this thread's own mode is as before


def test_cbrt_of_a_subnormal_is_its_root_or_zero():
    """Zero where a device takes subnormals for zero; the argument itself is neither."""
    device = open_device("sim:adreno-740")
    values = np.array([2.0**-141, -(2.0**-149), 0.0, -0.0, 27.0, -8.0, np.inf, -np.inf, np.nan, 2.0**-126], np.float32)
    view = device.view(device.allocate(values.nbytes), BufferSpec(values.nbytes, "float32"))
    device.write(view, values)
    kernel = device.build("kernel void f(global float *a) { a[get_global_id(0)] = cbrt(a[get_global_id(0)]); }")["f"]
    assert not device.launch(kernel, (values.size,), (values.size,), [view]).findings
    found, exact = device.read(view), np.cbrt(values.astype(np.float64))
    flushed = np.where(np.abs(values) < 2.0**-126, 0.0, exact)
    close = np.isclose(found, exact, rtol=1e-6, atol=0, equal_nan=True) | (found == flushed)
    assert close.all(), found
    assert (np.signbit(found) == np.signbit(values))[~np.isnan(values)].all()


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8, 16])
def test_the_lesser_and_the_greater_are_flushed_in_vectors_of_any_width(engine, lanes):
    """By work-items one after another too: LLVM ends the process where two floats are flushed."""
    kind, load = ("float", "a[i]") if lanes == 1 else (f"float{lanes}", f"vload{lanes}(i, a)")
    store = "r[i + {at}] = {value};" if lanes == 1 else f"vstore{lanes}({{value}}, i + {{at}}, r);"
    values = ("fmin(x, y)", "fmax(x, y)", "clamp(x, x - 1.0f, x + 1.0f)", "min(x, y)")
    body = "".join(store.format(value=value, at=64 * n) for n, value in enumerate(values))
    source = f"""__kernel void k(__global const float* a, __global float* r) {{ size_t i = get_global_id(0);
      {kind} x = {load}, y = -x; {body} }}"""
    a = np.resize(np.array([1e-40, -1e-40, 2.5, -3.0, 0.0], np.float32), 64 * lanes)
    args = [Buffer(a), Buffer(np.zeros(256 * lanes, np.float32))]
    out = engine.run(source, "k", [64], [16], args, flush_denormals=True).outputs[1]
    x = np.where(np.abs(a) < 1e-38, np.float32(0), a)
    for got, want in zip(out.reshape(4, -1), (-abs(x), abs(x), x, -abs(x)), strict=True):
        np.testing.assert_array_equal(got, want)
