"""Arithmetic for the oldest processors: the same bits as the instructions give."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from processors import OLDEST

from adreno_sim.engine.llvm import objects

LOOPS = """
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.fma.f64(double, double, double)
define void @run(i64 %kind, ptr %a, ptr %b, ptr %c, ptr %r, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  switch i64 %kind, label %latch [ i64 0, label %extend  i64 1, label %truncate  i64 2, label %single  i64 3, label %double ]
extend:
  %p0 = getelementptr half, ptr %a, i64 %i
  %h = load half, ptr %p0
  %f = fpext half %h to float
  %q0 = getelementptr float, ptr %r, i64 %i
  store float %f, ptr %q0
  br label %latch
truncate:
  %p1 = getelementptr float, ptr %a, i64 %i
  %g = load float, ptr %p1
  %t = fptrunc float %g to half
  %q1 = getelementptr half, ptr %r, i64 %i
  store half %t, ptr %q1
  br label %latch
single:
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %z = load float, ptr %pc
  %v = call float @llvm.fma.f32(float %x, float %y, float %z)
  %q2 = getelementptr float, ptr %r, i64 %i
  store float %v, ptr %q2
  br label %latch
double:
  %da = getelementptr double, ptr %a, i64 %i
  %db = getelementptr double, ptr %b, i64 %i
  %dc = getelementptr double, ptr %c, i64 %i
  %dx = load double, ptr %da
  %dy = load double, ptr %db
  %dz = load double, ptr %dc
  %dv = call double @llvm.fma.f64(double %dx, double %dy, double %dz)
  %q3 = getelementptr double, ptr %r, i64 %i
  store double %dv, ptr %q3
  br label %latch
latch:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@pytest.fixture(scope="module")
def old_machine():
    """The oldest processor: (kind, inputs, result dtype) to results."""
    machine = objects.Machine(*OLDEST)
    loaded = machine.load(machine.compile(LOOPS), "run")
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * 6)(loaded.address)

    def run(kind: int, inputs: list[np.ndarray], dtype: str) -> np.ndarray:
        result = np.zeros(len(inputs[0]), dtype)
        addresses = [i.ctypes.data for i in inputs] + [0] * (3 - len(inputs))
        function(kind, *addresses, result.ctypes.data, len(result))
        return result

    run.keep = loaded  # type: ignore[attr-defined]
    return run


def test_every_half_extends(old_machine):
    halves = np.arange(65536, dtype=np.uint16)
    got, want = old_machine(0, [halves], "float32"), halves.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(got[~np.isnan(want)].view(np.uint32), want[~np.isnan(want)].view(np.uint32))
    assert np.isnan(got[np.isnan(want)]).all()


def test_truncation_rounds_to_nearest_even(old_machine):
    rng = np.random.default_rng(1)
    near = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(all="ignore"):
        between = (near[:-1] + near[1:]) / 2
        floats = np.concatenate(
            [
                near,
                between,
                np.nextafter(between, np.float32(1e9)),
                rng.integers(0, 2**32, 4096).astype(np.uint32).view(np.float32),
            ]
        )
        want = floats.astype(np.float16)
    got = old_machine(1, [floats], "float16")
    np.testing.assert_array_equal(got[~np.isnan(want)].view(np.uint16), want[~np.isnan(want)].view(np.uint16))
    assert np.isnan(got[np.isnan(want)]).all()


def test_fused_multiply_add_rounds_once(old_machine):
    rng = np.random.default_rng(2)
    for kind, dtype in ((2, "float32"), (3, "float64")):
        a, b = (rng.normal(size=300).astype(dtype) for _ in range(2))
        c = np.where(rng.random(300) < 0.5, -(a * b), rng.normal(size=300) * 10.0 ** rng.integers(-12, 12, 300)).astype(dtype)
        got = old_machine(kind, [a, b, c], dtype)
        for x, y, z, r in zip(a, b, c, got, strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            around = [r, np.nextafter(r, np.dtype(dtype).type(np.inf)), np.nextafter(r, np.dtype(dtype).type(-np.inf))]
            assert min(around, key=lambda v: abs(Fraction(float(v)) - exact)) == r
    special = np.array([np.inf, np.nan, 0.0, -np.inf], "float32")
    ones = np.ones(4, "float32")
    np.testing.assert_array_equal(old_machine(2, [special, ones, ones], "float32"), [np.inf, np.nan, 1, -np.inf])
