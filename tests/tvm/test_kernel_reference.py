"""References of kernels: arguments in and out, and functions that the CPU cannot run."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from adreno_sim.golden.kernel_reference import KernelReference

pytestmark = pytest.mark.tvm


@I.ir_module
class Functions:
    @T.prim_func(private=True)
    def scale(a: T.handle, b: T.handle, factor: T.int64):
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32", scope="global.texture")
        y = T.match_buffer(b, (n,), "float32", scope="global.texture")
        for i in range(n):
            y[i] = x[i] * T.Cast("float32", factor)

    @T.prim_func(private=True)
    def bound(a: T.handle):
        x = T.match_buffer(a, (8,), "float32")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            x[i] = T.float32(1)


def test_arguments_keep_order_and_inputs_stay_as_they_were():
    reference = KernelReference(IRModule({"scale": Functions["scale"]}))
    x, y = np.arange(6, dtype="float32"), np.full(6, np.nan, "float32")
    assert "scale" in reference
    assert "other" not in reference
    got = reference.run("scale", [x, y, 3])
    assert got[2] is None
    np.testing.assert_array_equal(got[0], x)
    np.testing.assert_array_equal(got[1], 3 * x)
    assert np.isnan(y).all(), "the caller's arrays are copied"
    assert reference.run("scale", [x[:2], y[:2], 2])[1].tolist() == [0, 2], "the length is symbolic"


def test_a_function_for_a_gpu_is_left_out_with_its_reason():
    reference = KernelReference(Functions)
    assert "scale" in reference
    assert "bound" not in reference
    assert list(reference.unavailable) == ["bound"]
    assert "llvm" in reference.unavailable["bound"]
    assert isinstance(Functions["bound"], tirx.PrimFunc)
