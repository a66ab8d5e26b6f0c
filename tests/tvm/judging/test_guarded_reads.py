"""Truths of reads that a condition guards which rounding moves: outside of the tensor nobody reads where the guard says so."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import adreno_sim
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


@I.ir_module
class Scattered:
    """z with y in its columns 2 and 3, as TVM lowers slice_scatter: a gather by clipped places, then a choice."""

    @T.prim_func(private=True, s_tir=True)
    def scatter(z: T.Buffer((4, 8), "float32"), y: T.Buffer((4, 2), "float32"), out: T.Buffer((4, 8), "float32")):
        place = T.sblock_alloc_buffer((8,), "int64")
        taken = T.sblock_alloc_buffer((4, 8))
        twice = T.sblock_alloc_buffer((4, 8))
        for i in range(8):
            with T.sblock("place"):
                v = T.axis.spatial(8, i)
                place[v] = T.max(T.min(T.Cast("int64", v) - T.int64(2), T.int64(7)), T.int64(0))
        for i, j in T.grid(4, 8):
            with T.sblock("taken"):
                vi, vj = T.axis.remap("SS", [i, j])
                taken[vi, vj] = y[vi, place[vj]]
        for i, j in T.grid(4, 8):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                twice[vi, vj] = taken[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 8):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = T.Select(T.int32(2) <= vj and vj < T.int32(4), twice[vi, vj], z[vi, vj])


def scattered(columns):
    """The module with a choice of `columns` columns in place of two."""
    text = Scattered.script().replace("< 4, twice", f"< {2 + columns}, twice")
    if columns != 2:
        assert text != Scattered.script()
    from tvm.script import from_source

    return from_source(text)


def run_scatter(module):
    z, y = np.arange(32, dtype="float32").reshape(4, 8), -np.arange(1, 9, dtype="float32").reshape(4, 2)
    truth = KernelTruth(module).run("scatter", [z, y, np.zeros((4, 8), "float32")], UNITS)[-1]
    z[:, 2:4] = 2 * y
    return truth.value, z


def test_a_gather_that_no_choice_takes_reads_nothing():
    value, expected = run_scatter(Scattered)
    assert (value == expected).all()


def test_a_gather_that_a_choice_takes_out_of_range_is_named():
    with pytest.raises(OutOfRange, match="an index leaves y"):
        run_scatter(scattered(3))


def pad_circularly(builder, op, x, dtype):
    """One row more at each end, from the other end, as PyTorch's decomposition writes it."""
    wide = builder.emit(op.zeros((1, 4, 8, 6), dtype))
    wide = builder.emit(op.slice_scatter(wide, x, 1, 7, 1, axis=2))
    for place, row in ((0, 5), (7, 0)):
        edge = builder.emit(op.strided_slice(x, [2], [row], [row + 1]))
        wide = builder.emit(op.slice_scatter(wide, edge, place, place + 1, 1, axis=2))
    return wide


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_slice_scatter_and_circular_padding_are_checked(target, dtype):
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 4, 6, 6), dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(pad_circularly(builder, relax.op, x, dtype))
        builder.emit_func_output(out)
    report = adreno_sim.check(builder.get(), target=target)
    assert not report.findings, report.findings
    assert report.checked == report.kernels_in_model
