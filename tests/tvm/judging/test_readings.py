"""Readings of a check: a kernel that decides on the last bit of a product depends on contraction, one that adds it does not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import tirx as T

from adreno_sim import check_kernel
from adreno_sim.findings import Kind

pytestmark = pytest.mark.tvm


@T.prim_func(s_tir=True)
def decides(a: T.Buffer((256,), "float32"), b: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    for i in T.grid(256):
        with T.sblock("y"):
            vi = T.axis.remap("S", [i])
            y[vi] = T.if_then_else(a[vi] * a[vi] + b[vi] == T.float32(0), T.float32(1), T.float32(2))


@T.prim_func(s_tir=True)
def adds(a: T.Buffer((256,), "float32"), b: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    for i in T.grid(256):
        with T.sblock("y"):
            vi = T.axis.remap("S", [i])
            y[vi] = a[vi] * a[vi] + b[vi]


def test_each_kernel_of_a_check_runs_under_each_reading() -> None:
    a = np.random.default_rng(1).random(256, np.float32)
    given = {"a": a, "b": -(a * a)}
    for function, expected in ((decides, ["contraction"]), (adds, [])):
        report = check_kernel(function, given, every_reading=True, keep_going=True)
        found = [one for one in report.findings if one.kind is Kind.DEPENDS_ON_READING]
        assert [one.detail["reading"] for one in found] == expected
        assert all(one.line for one in found)
        assert report.readings is not None
        assert report.readings.tried
        assert report.readings.left_out
        assert {one.kernel for one in report.readings.tried} == {kernel.name for kernel in report.kernels}
