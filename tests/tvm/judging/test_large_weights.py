"""Weights that nobody copies: a twin in wider types reads floats as they lie, so does a truth, and both say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import adreno_sim
from adreno_sim.compiler.check.wide_text import Width, widen_floats, widen_model, widen_where_read
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.run.read_only import find_read_only
from adreno_sim.compiler.run.values import Tensor
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.findings import Kind
from adreno_sim.golden.truth import program
from adreno_sim.golden.truth.kernels import KernelTruth
from adreno_sim.memory import spilled

pytestmark = pytest.mark.tvm

ROWS, COLUMNS = 96, 160


def product() -> onnx.ModelProto:
    """y = relu(x w + b) + b2, the last a constant that two operators read."""
    rng = np.random.default_rng(1)
    weights = {"w": (COLUMNS, ROWS), "b": (ROWS,)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, COLUMNS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, ROWS])],
        [numpy_helper.from_array(rng.standard_normal(shape).astype("float32"), name) for name, shape in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def everything_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "LEAST", 1 << 12)


def digest_report(report: Any) -> list[Any]:
    return [report.digests, [(k.name, k.status, k.max_abs, k.max_ulp) for k in report.kernels], report.findings, report.unchecked]


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["buffer", "texture"])
def test_a_check_says_the_same(target: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = digest_report(adreno_sim.check(product(), target=target, dtype=dtype))
    lent: set[str] = set()
    make = VirtualMachine.constant

    def constant(machine: VirtualMachine, key: str, scope: str) -> Tensor:
        tensor = make(machine, key, scope)
        lent.update([key] if tensor.lent is not None else [])
        return tensor

    monkeypatch.setattr(VirtualMachine, "constant", constant)
    monkeypatch.setattr(spilled, "LEAST", 1 << 12)
    monkeypatch.setattr(program, "LARGE", 1 << 10)
    assert digest_report(adreno_sim.check(product(), target=target, dtype=dtype)) == expected
    assert lent


def test_a_wrong_kernel_is_found_all_the_same(everything_in_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin in doubles reads the weights that the device has: a term that is left out shows."""
    from adreno_sim.compiler.check import prepare

    extract = prepare.extract_model

    def spoil(lowered: Any, model: Any) -> Any:
        compiled = extract(lowered, model)
        for name, code in compiled.kernels.items():
            text = code.source.replace("max(", "1.00001f * max(")
            compiled.kernels[name] = type(code)(**{**vars(code), "source": text})
        return compiled

    monkeypatch.setattr(prepare, "extract_model", spoil)
    report = adreno_sim.check(product(), target="buffer")
    assert [finding.kind for finding in report.findings if finding.kernel] == [Kind.WRONG_VALUE]


def test_a_constant_that_a_kernel_may_write_is_copied() -> None:
    model = compile_model(product(), target="buffer")
    read = find_read_only(model)
    assert read == set(model.constants)
    for name, function in model.host_functions.items():
        params = tuple(type(p)(**{**vars(p), "access": "read_write"}) if hasattr(p, "access") else p for p in function.params)
        model.host_functions[name] = type(function)(**{**vars(function), "params": params})
    assert find_read_only(model) == set()


FLOATS = """__kernel void f(__global float* restrict y_ptr, __global float* restrict w_ptr, __global float* restrict x_ptr);
__kernel void f(__global float* restrict y_ptr, __global float* restrict w_ptr, __global float* restrict x_ptr) {
  y_ptr[0] = w_ptr[(int)w_ptr[1]] * w_ptr[2] + x_ptr[0];
}"""


def test_elements_are_widened_where_they_are_read() -> None:
    text = widen_floats(widen_where_read(FLOATS, "w_ptr") or "").replace("narrow_elements_of_", "")
    assert text.count("__global float* restrict w_ptr") == 2
    assert text.count("__global double* restrict x_ptr") == 2
    assert "((double)w_ptr[(int)((double)w_ptr[1])]) * ((double)w_ptr[2]) + x_ptr[0]" in text


@pytest.mark.parametrize("use", ["vload4(0, w_ptr)", "*w_ptr", "*(&w_ptr[1])", "g(w_ptr, 1)", "(w_ptr + 1)[0]"])
def test_a_pointer_of_which_more_is_done_becomes_wider(use: str) -> None:
    assert widen_where_read(FLOATS.replace("w_ptr[2]", use), "w_ptr") is None


def test_a_large_tensor_keeps_its_type_only_where_every_kernel_can() -> None:
    model = compile_model(product(), target="buffer")
    name = next(name for name in model.host_functions if "matmul" in name)
    function, width = model.host_functions[name], Width(halves=False, doubles=True)
    read = [param.name for param in function.params if getattr(param, "access", "") == "read"]
    wide, kept = widen_model(model, name, width, large=read)
    assert kept == set(read)
    assert [p.dtype for p in wide.host_functions[name].params if p.name in kept] == ["float32"] * len(read)
    assert widen_model(model, name, width)[1] == frozenset()


def test_a_truth_reads_floats_as_it_reads_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    tvm = pytest.importorskip("tvm")
    from tvm import te

    from adreno_sim.golden.truth.units import Units

    x, w = te.placeholder((4, COLUMNS), "float32", "x"), te.placeholder((COLUMNS, ROWS), "float32", "w")
    k = te.reduce_axis((0, COLUMNS), "k")
    y = te.compute((4, ROWS), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "y")
    module = tvm.IRModule({"f": te.create_prim_func([x, w, y])})
    rng = np.random.default_rng(2)
    args = [rng.standard_normal(shape).astype("float32") for shape in ((4, COLUMNS), (COLUMNS, ROWS), (4, ROWS))]
    truths = []
    for large in (1 << 62, 1 << 10):
        monkeypatch.setattr(program, "LARGE", large)
        truth = KernelTruth(module)
        assert truth.programs["f"].large == ((1,) if large == 1 << 10 else ())
        truths += [truth.run("f", args, Units()), truth.run("f", [a.astype("float64") for a in args], Units())]
    for _, _, found in truths[1:]:
        assert found is not None
        assert truths[0][2] is not None
        np.testing.assert_array_equal(found.value, truths[0][2].value)
        np.testing.assert_array_equal(found.sigma, truths[0][2].sigma)
