"""Constant results: of kernels that read nothing, judged over memory that held something else; of kernels that look for a value,
on inputs that hold it."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import tirx as T

from adreno_sim import check_kernel
from adreno_sim.compiler.check import kernel as kernels

pytestmark = pytest.mark.tvm


@T.prim_func(s_tir=True)
def zeros(y: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.float32(0)


@T.prim_func(s_tir=True)
def masked(y: T.Buffer((8, 16), "bool")):
    for i, j in T.grid(8, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = vi < 100


@T.prim_func(s_tir=True)
def unmasked(x: T.Buffer((8, 16), "float32"), y: T.Buffer((8, 16), "bool")):
    for i, j in T.grid(8, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] != T.float32(float("-inf"))


@T.prim_func(s_tir=True)
def small(x: T.Buffer((8, 16), "float32"), y: T.Buffer((8, 16), "bool")):
    for i, j in T.grid(8, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] < T.float32(1e30)


def with_half_of_it(monkeypatch, pattern=r"\{\n", by="{\n  if (get_global_id(0) >= 64) return;\n"):
    """Each kernel leaves the upper half of its work-items out, or is changed in another way."""
    extract = kernels.extract_function

    def change(lowered, function, args):
        model = extract(lowered, function, args)
        for name, code in model.kernels.items():
            changed = re.sub(pattern, by, code.source, count=1)
            assert changed != code.source
            object.__setattr__(model.kernels[name], "source", changed)
        return model

    monkeypatch.setattr(kernels, "extract_function", change)


@pytest.mark.parametrize("function", [zeros, masked], ids=["zeros", "mask"])
def test_a_constant_result_is_judged(function):
    report = check_kernel(function, target="buffer")
    assert report.verdict.startswith("ok: 1 of 1 kernels checked"), report.findings
    assert not report.findings, report.findings


@pytest.mark.parametrize("function", [zeros, masked], ids=["zeros", "mask"])
def test_a_constant_that_is_not_written_everywhere_is_wrong(function, monkeypatch):
    with_half_of_it(monkeypatch)
    dtype = "float32" if function is zeros else "bool"
    right = np.zeros((8, 16), dtype) if dtype == "float32" else np.ones((8, 16), dtype)
    report = check_kernel(function, [right], target="buffer")
    assert {finding.kind.label for finding in report.findings} == {"wrong-value"}, (report.verdict, report.findings)


@pytest.mark.parametrize("function", [unmasked, small], ids=["-inf", "below a bound"])
def test_a_comparison_is_judged_on_what_it_looks_for(function):
    report = check_kernel(function, target="buffer")
    assert report.verdict.startswith("ok: 1 of 1 kernels checked"), report.findings
    assert not report.findings, report.findings


@pytest.mark.parametrize("function", [unmasked, small], ids=["-inf", "below a bound"])
def test_a_comparison_that_holds_always_is_wrong(function, monkeypatch):
    with_half_of_it(monkeypatch, r"(y_ptr\[[^;]*\]) = [^;]*;", r"\1 = 1;")
    report = check_kernel(function, target="buffer")
    assert [finding.kind.label for finding in report.findings] == ["wrong-value"], (report.verdict, report.findings)
    assert "on inputs with values that it may look for" in report.findings[0].message
