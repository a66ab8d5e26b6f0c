"""Truths of reads that a condition guards which rounding moves: outside of the tensor nobody reads where the guard says so."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import tirx as T

from adreno_sim.golden.kernel_reference import KernelReference
from adreno_sim.golden.truth.bound import expect
from adreno_sim.golden.truth.kernels import KernelTruth
from adreno_sim.golden.truth.run import OutOfRange
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.comparison import compare

pytestmark = pytest.mark.tvm

UNITS = Units(flushes=False)


@I.ir_module
class Sampled:
    """x at the place that p says, in units of a third; 0 outside."""

    @T.prim_func(private=True, s_tir=True)
    def sample(x: T.Buffer((8,), "float32"), p: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("y"):
                v = T.axis.spatial(16, i)
                y[v] = T.if_then_else(
                    T.Cast("int64", T.floor(p[v] / T.float32(3))) >= T.int64(0)
                    and T.Cast("int64", T.floor(p[v] / T.float32(3))) < T.int64(8),
                    x[T.Cast("int64", T.floor(p[v] / T.float32(3)))],
                    T.float32(0),
                )


@I.ir_module
class Careless:
    """The same without the upper bound."""

    @T.prim_func(private=True, s_tir=True)
    def sample(x: T.Buffer((8,), "float32"), p: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("y"):
                v = T.axis.spatial(16, i)
                y[v] = T.if_then_else(
                    T.Cast("int64", T.floor(p[v] / T.float32(3))) >= T.int64(0),
                    x[T.Cast("int64", T.floor(p[v] / T.float32(3)))],
                    T.float32(0),
                )


X = np.arange(1, 9, dtype="float32")
FAR = np.linspace(-20, 40, 16).astype("float32")
AT_EDGES = np.repeat(np.float32([-3, 0, 21, 24]), 4) + np.tile(np.float32([0, 1e-6, -1e-6, 1]), 4)


@pytest.mark.parametrize("places", [FAR, AT_EDGES], ids=["far", "at-edges"])
def test_a_guarded_read(places):
    args = [X, places.astype("float32"), np.zeros(16, "float32")]
    (truth,) = (found for found in KernelTruth(Sampled).run("sample", args, UNITS) if found is not None)
    native = KernelReference(Sampled).run("sample", args)[-1]
    result = compare(native, expect(truth, "float32", UNITS))
    assert result.ok, str(result)


@pytest.mark.parametrize("places", [FAR, AT_EDGES], ids=["far", "at-edges"])
def test_a_read_whose_guard_is_too_wide_is_named(places):
    args = [X, places.astype("float32"), np.zeros(16, "float32")]
    with pytest.raises(OutOfRange, match="an index leaves x"):
        KernelTruth(Careless).run("sample", args, UNITS)
