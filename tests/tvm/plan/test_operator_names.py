"""Names of a model's operators on its compiled calls: from the file through TVM's fusion to the plan and its advice."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

import branchy_networks  # noqa: E402
import numpy as np  # noqa: E402
import relax_models  # noqa: E402

from adreno_sim import open_device  # noqa: E402
from adreno_sim.compiler.artifact.model import CompiledModel  # noqa: E402
from adreno_sim.compiler.artifact.vm_function import CallHost  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.plan.advice.advice import advise  # noqa: E402
from adreno_sim.compiler.plan.apply import replan  # noqa: E402
from adreno_sim.compiler.plan.extract import extract_plan  # noqa: E402
from adreno_sim.compiler.plan.footprint import measure  # noqa: E402
from adreno_sim.compiler.plan.rules import DeviceRules  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.tvm_bridge.versions import tvm_series  # noqa: E402

pytestmark = pytest.mark.tvm

NAMED = pytest.mark.skipif(tvm_series() == "0.25", reason="TVM 0.25 drops the spans of dataflow variables")

RULES = DeviceRules.of_device(open_device("sim:adreno-740"))


def calls(model: CompiledModel) -> list[tuple[str, ...]]:
    return [i.operators for i in model.functions["main"].body if isinstance(i, CallHost)]


@NAMED
@pytest.mark.parametrize(("pipeline", "target"), [("fixed", "texture"), ("fixed", "buffer"), ("stock", "buffer")])
def test_each_call_names_its_nodes(pipeline: str, target: str) -> None:
    """Four branches of equal shapes on one input: each call has the names of its own."""
    model = compile_model(branchy_networks.parallel_heads(), pipeline=pipeline, target=target)
    named = [operators for operators in calls(model) if operators]
    assert ("Conv stem", "Relu stem_relu") in named
    for head in range(4):
        assert named.count((f"Conv head{head}_wide", f"Relu head{head}_wide_relu")) == 1
        assert named.count((f"GlobalAveragePool head{head}_mean",)) == 1


@NAMED
def test_names_are_those_of_the_weights_that_a_call_takes() -> None:
    """Of equal calls, the name is of that with these weights."""
    proto = branchy_networks.parallel_heads()
    weights = {w.name: np.frombuffer(w.raw_data, np.float32) for w in proto.graph.initializer}
    model = compile_model(proto, target="buffer")
    found = 0
    for i in model.functions["main"].body:
        if isinstance(i, CallHost) and i.operators and i.operators[0].startswith("Conv head"):
            key = next(arg.key for arg in i.args if hasattr(arg, "key") and model.constants[arg.key].ndim >= 4)
            expected = weights[i.operators[0].removeprefix("Conv ") + "_w"]
            assert sorted(model.constants[key].reshape(-1)) == sorted(expected)
            found += 1
    assert found == 4


@NAMED
def test_a_relax_model_names_operators_and_variables() -> None:
    named = [name for operators in calls(compile_model(relax_models.convolutions())) for name in operators]
    assert any(name.startswith("nn.conv2d ") for name in named)


def test_a_bundle_keeps_the_names(tmp_path: Any) -> None:
    model = compile_model(branchy_networks.dilated())
    model.save(tmp_path / "model.asim")
    assert calls(CompiledModel.load(tmp_path / "model.asim")) == calls(model)


@NAMED
def test_the_advice_speaks_of_nodes() -> None:
    model = compile_model(branchy_networks.wide_inception())
    footprint = measure(extract_plan(model), RULES, ["arena"], model=model)
    assert footprint.plan is not None
    peak = advise(footprint.plan, RULES).tensors
    assert {tensor.producer.split(",")[0] for tensor in peak} >= {f"Conv b1_{n}_wide" for n in range(3)}


@pytest.mark.parametrize(
    "name", ["parallel_heads", *(pytest.param(name, marks=pytest.mark.slow) for name in ("wide_inception", "dense_decoder"))]
)
def test_another_order_takes_less_and_changes_no_bit(name: str) -> None:
    model = compile_model(branchy_networks.NETWORKS[name]())
    rows = {row.planner: row for row in measure(extract_plan(model), RULES, ["arena", "arena-reordered"], model=model).rows}
    assert rows["arena-reordered"].total < 0.9 * rows["arena"].total
    assert rows["arena-reordered"].ratio <= 1.01
    inputs = [np.random.default_rng(0).standard_normal(info.shape).astype(info.dtype) for info in model.inputs]
    expected = vm.run(model, inputs, open_device("sim:adreno-740", checks="off"))
    found = vm.run(replan(model, "arena-reordered", RULES), inputs, open_device("sim:adreno-740"))
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
