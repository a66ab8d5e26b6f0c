"""An input that is given a number becomes a constant, and what it decides is followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.golden.model_reference import run_onnx

pytestmark = pytest.mark.tvm

X = np.random.default_rng(3).standard_normal((2, 8)).astype("float32")


def floats(name: str, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def by_rate() -> Any:
    """A network that keeps half of the columns where the rate is 8000: branches of two shapes, chosen by a scalar input."""
    half = helper.make_node("Slice", ["x", "zero", "four", "one"], ["half"])
    whole = helper.make_node("Neg", ["x"], ["whole"])
    branches = {
        f"{name}_branch": helper.make_graph([node], name, [], [floats(node.output[0])])
        for name, node in {"then": half, "else": whole}.items()
    }
    nodes = [
        helper.make_node("Equal", ["sr", "rate"], ["slow"]),
        helper.make_node("If", ["slow"], ["chosen"], name="choose", **branches),
        helper.make_node("Exp", ["chosen"], ["y"]),
    ]
    constants = {"rate": np.array(8000), "zero": np.array([0]), "four": np.array([4]), "one": np.array([1])}
    graph = helper.make_graph(
        nodes,
        "rates",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8]),
            helper.make_tensor_value_info("sr", TensorProto.INT64, []),
        ],
        [floats("y")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


@pytest.mark.parametrize("rate", [8000, 16000])
def test_the_branch_of_a_value_is_what_onnx_runtime_runs(rate: int) -> None:
    model = load_model(by_rate(), {"x": X.shape}, values={"sr": rate})
    assert [item.name for item in model.inputs] == ["x"]
    assert model.onnx is not None
    assert "If" not in [node.op_type for node in model.onnx.proto.graph.node]
    expected = onnxruntime.InferenceSession(by_rate().SerializeToString()).run(None, {"x": X, "sr": np.array(rate)})
    found = run_onnx(model.onnx, {"x": X})
    assert found[0].shape == (2, 4 if rate == 8000 else 8)
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_model_with_a_value_is_checked(target: str) -> None:
    report = adreno_sim.check(by_rate(), target=target, shapes={"x": X.shape}, input_values={"sr": 16000})
    assert report.ok, report
    assert [item.name for item in report.inputs] == ["x"], report


def test_without_one_the_refusal_says_how() -> None:
    with pytest.raises(UnsupportedError, match=r"node choose\).*fix the input that decides \(--input-value NAME=NUMBER\)"):
        load_model(by_rate(), {"x": X.shape})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 1}, "value given for 'rate', but the inputs are x, sr"),
        ({"sr": 16000.5}, "value 16000.5 of input 'sr': int64 does not hold it"),
        ({"sr": float("inf")}, "value inf of input 'sr': int64 does not hold it"),
        ({"sr": 2**80}, "of input 'sr': int64 does not hold it"),
        ({"x": 1e300}, r"value 1e\+300 of input 'x': float32 does not hold it"),
        ({"sr": "fast"}, "value 'fast' of input 'sr': expected a number"),
    ],
)
def test_values_that_do_not_fit_are_named(values: Any, message: str) -> None:
    with pytest.raises(AdrenoSimError, match=message):
        load_model(by_rate(), {"x": X.shape}, values=values)


def relax_module(columns: Any = 8) -> Any:
    from tvm import relax, tirx
    from tvm.script import relax as R

    size = tirx.Var("n", "int64") if columns == "n" else columns
    builder = relax.BlockBuilder()
    x, scale = relax.Var("x", R.Tensor((2, size), "float32")), relax.Var("scale", R.Tensor((2, size), "float32"))
    with builder.function("main", [scale, x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.multiply(x, scale))
        builder.emit_func_output(result)
    return builder.get()


def test_a_parameter_of_a_relax_module_is_bound() -> None:
    report = adreno_sim.check(relax_module(), [X], input_values={"scale": 3})
    assert report.ok, report
    assert report.inputs[0].name == "x", report
    with pytest.raises(AdrenoSimError, match=r"input 'scale', which is 2xn: give its shape too \(--shape\)"):
        load_model(relax_module("n"), values={"scale": 3})
    assert load_model(relax_module("n"), {"scale": (2, 8)}, values={"scale": 3}).inputs[0].shape == (2, 8)


def test_a_program_of_torch_is_still_judged_by_torch() -> None:
    torch = pytest.importorskip("torch")

    class Scaled(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, scale: Any, x: Any) -> Any:
            return x * scale

    program = torch.export.export(Scaled(), (torch.ones(2, 8), torch.ones(2, 8)))
    report = adreno_sim.check(program, input_values={"scale": 3})
    assert report.ok, report
    assert {output.reference for output in report.outputs} == {"TVM llvm", "PyTorch"}, report
