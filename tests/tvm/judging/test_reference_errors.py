"""A reference that is itself off is no judge of what it is off by; of everything else it is one as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import adreno_sim
from adreno_sim.compiler.importers.onnx_file import take_model
from adreno_sim.findings import Kind
from adreno_sim.golden.onnx_error import last_errors

pytestmark = pytest.mark.tvm

REFERENCE = "ONNX Runtime"


def gate(bias: float, operator: str = "Sigmoid", reshaped: bool = False) -> onnx.ModelProto:
    """A convolution whose results lie around `bias`, and a function of them."""
    weights = np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype("float32")
    constants = {"w": weights, "b": np.full(4, bias, "float32"), "shape": np.array([1, 4, 64])}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node(operator, ["c"], ["s" if reshaped else "y"]),
    ]
    nodes += [helper.make_node("Reshape", ["s", "shape"], ["y"])] if reshaped else []
    graph = helper.make_graph(
        nodes,
        "gate",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


INPUTS = [np.random.default_rng(5).standard_normal((1, 3, 8, 8)).astype("float32") * 0.3]


@pytest.fixture
def shifted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes ONNX Runtime's results of the whole model another model's: as if TVM's importer had misread it."""
    from adreno_sim.golden import model_reference

    right = model_reference.run_onnx

    def shift(by: float) -> None:
        monkeypatch.setattr(
            model_reference, "run_onnx", lambda model, inputs: [out + np.float32(by) for out in right(model, inputs)]
        )

    return shift


@pytest.mark.parametrize(("bias", "reshaped"), [(-16, False), (-16, True), (-22, False)])
def test_what_a_reference_is_off_by_is_no_finding(bias: float, reshaped: bool) -> None:
    report = adreno_sim.check(gate(bias, reshaped=reshaped), INPUTS, target="buffer")
    assert report.ok, report
    assert any("Sigmoid is off from its definition" in reason for reason in report.unchecked), report.unchecked
    assert {row.reference for row in report.outputs} >= {REFERENCE, "float64"}


def test_what_it_is_not_off_by_is_one(shifted: Any) -> None:
    shifted(1e-6)
    report = adreno_sim.check(gate(-16), INPUTS, target="buffer")
    assert not report.ok
    assert [row.reference for row in report.outputs if not row.ok] == [REFERENCE]
    assert Kind.WRONG_VALUE in {finding.kind for finding in report.findings}


def test_a_reference_that_is_right_judges_alone() -> None:
    report = adreno_sim.check(gate(0), INPUTS, target="buffer")
    assert report.ok
    assert not any("off from" in reason for reason in report.unchecked)


def test_only_the_last_operator_is_measured() -> None:
    ((operator, error),) = last_errors(take_model(gate(-16)), {"x": INPUTS[0]}).values()
    assert operator == "Sigmoid"
    assert 1e-9 < error.max() < 1e-6
    (_, exact) = last_errors(take_model(gate(0, "Tanh")), {"x": INPUTS[0]})[0]
    assert exact.max() < 1e-6
    assert last_errors(take_model(gate(0, "Relu")), {"x": INPUTS[0]}) == {}
