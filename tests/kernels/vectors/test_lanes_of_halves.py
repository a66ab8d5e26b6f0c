"""Kernels of halves have twice the lanes where arithmetic gains more than accesses lose, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Scalar
from processors import SMALLER

from adreno_sim.base.host.x86_64 import X86_64
from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel
from adreno_sim.frontend.program import FrontEndTarget, compile_source

HALVES = "+avx512vl,+avx512bw,+avx512fp16,+f16c,+fma"
WIDE = "+avx512vl,+avx512bw,-avx512fp16,+f16c,+fma"
HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define EACH for (int i = 0; i < 100; i++)
kernel void k(global const T *a, global const T *w, global T *r, int n) {
  int x = get_global_id(0), y = get_global_id(1); T s = 0;
"""
SUM = "for (int i = 0; i < n; i++) s += a[x + i] * w[i]; r[x] = s;"


def lanes(monkeypatch, body: str, type: str = "half", features: str = HALVES, local: tuple[int, int, int] = (64, 1, 1)) -> int:
    """The lanes of the code for a processor."""
    monkeypatch.setattr(objects, "_machine", objects.Machine("x86-64-v4", features, X86_64))
    kernel = compile_source(HEAD + body + " }", f"-DT={type}", target=FrontEndTarget()).kernels["k"]
    args = (BufferArg(), BufferArg(), BufferArg(), ScalarArg(4))
    spec = Specialization(args=args, local_size=local, most_groups=(64, 64, 1), checks="off", emitter="spmd")
    return codegen.emit_module(kernel, spec).lanes


def test_sums_of_halves_have_twice_the_lanes_of_floats(monkeypatch):
    assert lanes(monkeypatch, SUM) == 32
    assert lanes(monkeypatch, SUM, type="float") == 16
    assert lanes(monkeypatch, SUM, features=WIDE) == 16
    assert lanes(monkeypatch, SUM, local=(48, 1, 1)) == 16


@pytest.mark.parametrize(
    ("body", "local", "count"),
    [
        ("r[x] = a[x];", (64, 1, 1), 16),  # nothing is computed
        ("if (y & 1) barrier(CLK_LOCAL_MEM_FENCE); s = a[x]; EACH s = s * s + s; r[x] = s;", (16, 4, 1), 16),
        ("barrier(CLK_LOCAL_MEM_FENCE); s = a[x]; EACH s = s * s + s; r[x] = s;", (16, 4, 1), 32),
        ("EACH s += a[y * y + x + i] * w[i]; r[y * y + x] = s;", (16, 4, 1), 16),
        ("EACH s += a[y * 100 + x + i] * w[i]; r[y * 100 + x] = s;", (16, 4, 1), 32),  # a row is one access
        ("EACH s += a[y * 100 + x + i] * w[i]; r[y * 100 + x] = s;", (32, 2, 1), 32),
        ("EACH s += a[x + i] * w[x / 16 * 100 + i]; r[x] = s;", (64, 1, 1), 16),
        ("EACH s += a[x + i] * w[x / 32 * 100 + i]; r[x] = s;", (64, 1, 1), 32),
        ("s = a[y * 100 + x]; EACH s = s * s + w[i]; r[y * 100 + x] = s;", (16, 4, 1), 32),
    ],
)
def test_an_access_that_would_come_apart_counts_against_it(monkeypatch, body, local, count):
    assert lanes(monkeypatch, body, local=local) == count


CONVOLUTION = (
    HEAD.replace("int x", "T t[4]; int l = get_local_id(1), x")
    + """
  for (int o = 0; o < 4; o++) t[o] = a[(x + o) & 63];
  for (int i = 0; i < n; i++) {
    T v = x + i < 120 ? a[x + i + 100 * (y & 1)] : (T)0;
    if (x & 1 || i & y) for (int o = 0; o < 4; o++) t[o] = t[o] + v * w[4 * i + o];
    if (s > 900) break;
    s += fabs(v) * fabs(t[i & 3]);
  }
  r[y * 128 + x] = max(t[0] + t[1], (T)0) + t[2] * t[3] - s * l; }"""
)


@pytest.mark.parametrize("flush", [False, True], ids=["", "flushed"])
@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_the_same_bits_as_without_arithmetic_of_halves(engine, monkeypatch, checks, flush):
    rng = np.random.default_rng(3)
    a, w = (rng.standard_normal(1024).astype(np.float16) * np.float16(scale) for scale in (0.02, 0.02))
    args = [Buffer(a), Buffer(w), Buffer(np.zeros(512, np.float16)), Scalar(np.int32(20))]

    def run() -> bytes:
        launch = ("k", (128, 4), (64, 2), args)
        return engine.run(CONVOLUTION, *launch, options="-DT=half", checks=checks, flush_denormals=flush).outputs[2].tobytes()

    here = run()
    monkeypatch.setattr(objects, "_machine", objects.Machine(*SMALLER[0]))
    monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())
    assert run() == here
    assert np.count_nonzero(np.frombuffer(here, np.float16)) > 100


@pytest.mark.skipif(not objects.machine().processor.computes_halves, reason="this processor does not compute halves")
def test_doubles_beside_halves_do_not_change_what_is_flushed(engine):
    """LLVM is told of doubles that their denormals are flushed, which is then said of halves too."""
    source = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global const half *a, global half *r, global double *d) {
      int i = get_global_id(0); half p = a[i] * a[i + 1]; r[i] = p * 64.0h + p; DOUBLE }"""
    a = np.random.default_rng(1).integers(0, 0x2800, 257).astype(np.uint16).view(np.float16)
    args = [Buffer(a), Buffer(np.zeros(256, np.float16)), Buffer(np.zeros(256))]
    found = [
        engine.run(source.replace("DOUBLE", text), "k", (256,), (64,), args, flush_denormals=True).outputs[1]
        for text in ("", "d[i] = d[i] * 1e-200 + 1.0;")
    ]
    with np.errstate(all="ignore"):
        product = a[:256] * a[1:]
        product = np.where(np.abs(product) < 2.0**-14, np.float16(0), product)
        total = product * np.float16(64) + product
    for one in found:
        np.testing.assert_array_equal(one, np.where(np.abs(total) < 2.0**-14, np.float16(0), total))
    assert 20 < np.count_nonzero(product) < 200


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("type", ["char", "ushort", "half"])
def test_small_elements_anywhere_from_any_start(engine, type, start, checks):
    """The word around an element is found by a number of 32 bits, whose start lies within a word."""
    source = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global const T *a, global const int *at, global T *r, int n) {
      int i = get_global_id(0); global const T *from = a + n; r[i] = from[at[i]]; if (at[i] % 3) r[64 + i] = from[at[i] - 1]; }"""
    dtype = {"char": np.int8, "ushort": np.uint16, "half": np.float16}[type]
    a, at = np.arange(100).astype(dtype), np.random.default_rng(2).permutation(96)[:64].astype(np.int32)
    at[0], at[1] = 96, 1 - start
    args = [Buffer(a[: 97 + start]), Buffer(at), Buffer(np.zeros(128, dtype)), Scalar(np.int32(start))]
    found = engine.run(source, "k", (64,), (64,), args, options=f"-DT={type}", checks=checks)
    np.testing.assert_array_equal(found.outputs[2][:64], (at + start).astype(dtype))
    np.testing.assert_array_equal(found.outputs[2][64:], np.where(at % 3 != 0, at + start - 1, 0).astype(dtype))
    assert not found.findings
