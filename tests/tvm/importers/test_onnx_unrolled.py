"""LSTM, GRU, RNN, If and Loop become operators that TVM imports, and compute the same as ONNX Runtime does before."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import adreno_sim
from adreno_sim.compiler.importers.onnx_graph import simplify
from adreno_sim.golden.onnx_model import LargeArrays

pytestmark = pytest.mark.tvm

STEPS, BATCH, SIZE, HIDDEN = 5, 2, 6, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
RANDOM = np.random.default_rng(2)


def draw(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 0.5).astype(np.float32)


def make_model(nodes: list[Any], inputs: dict[str, list[int]], outputs: list[str], constants: dict[str, np.ndarray]) -> Any:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


def recurrent(kind: str, steps: int = STEPS, peepholes: bool = False, initial: bool = True, **attributes: Any) -> Any:
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * HIDDEN
    constants = {"w": draw(ways, rows, SIZE), "r": draw(ways, rows, HIDDEN), "b": draw(ways, 2 * rows)}
    operands, outputs = ["x", "w", "r", "b"], ["y", "h"]
    if initial:
        constants["h0"], constants["c0"] = draw(ways, BATCH, HIDDEN), draw(ways, BATCH, HIDDEN)
        operands += ["", "h0", *(["c0"] if kind == "LSTM" else [])]
    if peepholes:
        constants["p"] = draw(ways, 3 * HIDDEN)
        operands.append("p")
    if kind == "LSTM":
        outputs.append("c")
    node = helper.make_node(kind, operands, outputs, name="layer", hidden_size=HIDDEN, **attributes)
    used = {name: value for name, value in constants.items() if name in operands}
    return make_model([node], {"x": [steps, BATCH, SIZE]}, outputs, used)


def run(model: Any, **feeds: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)


def check_same(model: Any, **feeds: np.ndarray) -> Any:
    before = run(model, **feeds)
    plain = simplify(model, LargeArrays())
    for got, expected in zip(run(plain, **feeds), before, strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert not {node.op_type for node in plain.graph.node} & {*GATES, "If", "Loop"}
    return plain


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_every_layer_and_direction(kind: str, direction: str) -> None:
    check_same(recurrent(kind, direction=direction), x=draw(STEPS, BATCH, SIZE))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("LSTM", {"peepholes": True}), ("LSTM", {"initial": False}), ("GRU", {"linear_before_reset": 1}),
     ("GRU", {"activations": ["Relu", "Sigmoid"]}), ("RNN", {"activations": ["Relu"]}), ("LSTM", {"steps": 1})],
)  # fmt: skip
def test_options(kind: str, options: dict[str, Any]) -> None:
    check_same(recurrent(kind, **options), x=draw(options.get("steps", STEPS), BATCH, SIZE))


@pytest.mark.parametrize(
    ("target", "kind", "steps", "direction"),
    [
        ("texture", "LSTM", 2, "reverse"),
        pytest.param("texture", "LSTM", 3, "bidirectional", marks=pytest.mark.slow),
        pytest.param("buffer", "LSTM", 3, "bidirectional", marks=pytest.mark.slow),
    ],
)
def test_a_layer_is_checked_whole(target: str, kind: str, steps: int, direction: str, adreno: Any) -> None:
    report = adreno_sim.check(recurrent(kind, steps=steps, direction=direction), device=adreno, target=target)
    assert report.ok, str(report)


def test_the_most_steps_and_one_more() -> None:
    simplify(recurrent("RNN", steps=64, direction="bidirectional"), LargeArrays())
    with pytest.raises(adreno_sim.UnsupportedError, match=r"RNN \(node layer\): 130 steps to unroll; .* at most 128 .*--shape"):
        simplify(recurrent("RNN", steps=65, direction="bidirectional"), LargeArrays())


def test_rare_attributes_are_refused_by_name() -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=r"LSTM \(node layer\): expected no attribute clip, got 1.0"):
        simplify(recurrent("LSTM", clip=1.0), LargeArrays())


def branch(name: str, node: Any) -> Any:
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)])


def conditional(condition: list[Any], other: Any = None, constants: dict[str, np.ndarray] | None = None) -> Any:
    """exp(x) where the condition holds, else -x, or `other`. Both branches name their result the same."""
    branches = (
        branch("then", helper.make_node("Exp", ["x"], ["same"])),
        branch("else", other or helper.make_node("Neg", ["x"], ["same"])),
    )
    chosen = helper.make_node("If", ["go"], ["picked"], name="choice", then_branch=branches[0], else_branch=branches[1])
    nodes = [*condition, chosen, helper.make_node("Abs", ["picked"], ["y"])]
    return make_model(nodes, {"x": [2, 3]}, ["y"], constants or {})


BY_SHAPE = [
    helper.make_node("Size", ["x"], ["count"]),
    helper.make_node("Equal", ["count", "six"], ["go"]),
]
BY_DATA = [
    helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
    helper.make_node("Greater", ["top", "zero"], ["go"]),
]


@pytest.mark.parametrize(("six", "kept"), [(6, "Exp"), (7, "Neg")])
def test_a_known_condition_leaves_one_branch(six: int, kept: str) -> None:
    plain = check_same(conditional(BY_SHAPE, constants={"six": np.array(six, np.int64)}), x=draw(2, 3))
    assert [node.op_type for node in plain.graph.node] == [kept, "Abs"]


@pytest.mark.parametrize("sign", [1, -1])
def test_data_chooses_between_branches(sign: int, adreno: Any) -> None:
    model = conditional(BY_DATA, constants={"zero": np.array(0, np.float32)})
    check_same(onnx.ModelProto.FromString(model.SerializeToString()), x=sign * np.abs(draw(2, 3)))
    assert adreno_sim.check(model, device=adreno, target="texture").ok


def test_branches_of_different_shapes_are_refused() -> None:
    other = helper.make_node("ReduceMax", ["x"], ["same"], axes=[1], keepdims=1)
    model = conditional(BY_DATA, other, {"zero": np.array(0, np.float32)})
    with pytest.raises(adreno_sim.UnsupportedError, match=r"If \(node choice\): .* of one shape, got 2x3 and 2x1"):
        simplify(model, LargeArrays())


def loop(trips: int, going: str) -> Any:
    """x doubled `trips` times, and every value on the way."""
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["twice"]), helper.make_node("Identity", [going], ["on"]),
         helper.make_node("Identity", ["twice"], ["seen"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("was", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         *(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("twice", "seen"))],
    )  # fmt: skip
    constants = {"trips": np.array(trips, np.int64), "start": np.array(True)}
    nodes = [helper.make_node("Loop", ["trips", "start", "x"], ["last", "all"], name="again", body=body)]
    if going == "data":
        nodes = [
            helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
            helper.make_node("Greater", ["top", "top"], ["data"]),
            *nodes,
        ]
    return make_model(nodes, {"x": [2, 3]}, ["last", "all"], constants)


def test_a_loop_of_known_length() -> None:
    check_same(loop(3, "was"), x=draw(2, 3))


@pytest.mark.parametrize(("trips", "going", "said"), [(200, "was", "200 steps to unroll"), (3, "data", "depends on data")])
def test_loops_that_are_refused(trips: int, going: str, said: str) -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=rf"Loop \(node again\): .*{said}"):
        simplify(loop(trips, going), LargeArrays())
