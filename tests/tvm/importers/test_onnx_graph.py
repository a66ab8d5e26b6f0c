"""ONNX graphs made plain still compute the same, as ONNX Runtime judges; placeholders become usable weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.importers.onnx_graph import simplify
from adreno_sim.compiler.importers.onnx_weights import seed_placeholders
from adreno_sim.golden.model_reference import run_onnx
from adreno_sim.golden.onnx_model import LargeArrays, OnnxModel

pytestmark = pytest.mark.tvm

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


def model(
    nodes: list[Any], inputs: dict[str, list[Any]], outputs: list[str], constants: dict[str, np.ndarray] | None = None
) -> Any:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def run(proto: Any, **feeds: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, feeds)


def kinds(proto: Any) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def check_same(proto: Any, shapes: dict[str, list[int]] | None = None, **feeds: np.ndarray) -> Any:
    """Simplify, compare with ONNX Runtime on the graph as it was, and return the plain one."""
    before = run(proto, **feeds)
    arrays = LargeArrays()
    plain = simplify(proto, arrays, shapes)
    for left, right in zip(before, run_onnx(OnnxModel(plain, arrays), feeds), strict=True):
        np.testing.assert_array_equal(left, right)
    return plain


X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype("float32")


def test_a_shape_computed_from_a_static_input_is_folded() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array([0], "int64"))),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Constant", [], ["rest"], value=numpy_helper.from_array(np.array([-1], "int64"))),
        helper.make_node("Concat", ["batch", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    plain = check_same(model(nodes, {"x": ["n", 3, 4, 5]}, ["z"]), {"x": [2, 3, 4, 5]}, x=X)
    assert kinds(plain) == ["Reshape", "Relu"]


def test_dropout_and_identity_vanish_and_sums_become_adds() -> None:
    nodes = [
        helper.make_node("Dropout", ["x"], ["a", "mask"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Sum", ["b", "x", "b"], ["c"]),
        helper.make_node("Sum", ["c"], ["d"]),
        helper.make_node("Identity", ["d"], ["y"]),
    ]
    plain = check_same(model(nodes, {"x": [2, 3, 4, 5]}, ["y"]), x=X)
    assert set(kinds(plain)) <= {"Add", "Identity"}
    assert kinds(plain).count("Add") == 2


def test_a_dropout_whose_result_is_an_output_stays_an_output() -> None:
    plain = check_same(model([helper.make_node("Dropout", ["x"], ["y"])], {"x": [2, 3, 4, 5]}, ["y"]), x=X)
    assert [value.name for value in plain.graph.output] == ["y"]


def test_folded_scalars_keep_rank_zero() -> None:
    nodes = [helper.make_node("Mul", ["two", "two"], ["four"]), helper.make_node("Mul", ["x", "four"], ["y"])]
    plain = check_same(model(nodes, {"x": [2, 3, 4, 5]}, ["y"], {"two": np.array(2, "float32")}), x=X)
    (constant,) = plain.graph.initializer
    assert list(constant.dims) == []


def test_a_fold_of_large_weights_happens_too() -> None:
    weight = np.random.default_rng(1).standard_normal((1, 1, 60, 2000)).astype("float32")
    nodes = [
        helper.make_node("Reshape", ["w", "shape"], ["matrix"]),
        helper.make_node("Reshape", ["x", "row"], ["flat"]),
        helper.make_node("MatMul", ["flat", "matrix"], ["y"]),
    ]
    constants = {"w": weight, "shape": np.array([60, 2000], "int64"), "row": np.array([2, 60], "int64")}
    assert kinds(check_same(model(nodes, {"x": [2, 3, 4, 5]}, ["y"], constants), x=X)) == ["Reshape", "MatMul"]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": [1, 4, 8, 8]}, r"shape 1x4x8x8 does not fit input 'x', which is \?x3x\?x\?"),
        ({"x": [1, 3, 8]}, r"does not fit input 'x'"),
        ({"x": [1, 3, 0, 8]}, r"does not fit input 'x'"),
        ({"y": [1, 3, 8, 8]}, r"shape given for 'y', but the inputs are x"),
        ({}, r"input 'x' has unknown dimensions \(\?x3x\?x\?\): give its shape"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes: dict[str, list[int]], message: str) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["n", 3, "h", "w"]}, ["y"])
    with pytest.raises(AdrenoSimError, match=message):
        simplify(proto, LargeArrays(), shapes)


def test_an_unknown_batch_is_one() -> None:
    plain = simplify(model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["n", 3]}, ["y"]), LargeArrays())
    assert [dim.dim_value for dim in plain.graph.input[0].type.tensor_type.shape.dim] == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "resnet50", pytest.param("inception_v1", marks=pytest.mark.slow)])
def test_seeded_weights_neither_saturate_nor_vanish(name: str) -> None:
    """Every activation keeps a sensible size and the classes differ, so that a comparison says something."""
    proto = onnx.load(LIGHT / f"light_{name}.onnx")
    arrays = LargeArrays()
    seeded = seed_placeholders(proto, arrays, seed=0)
    plain = simplify(proto, arrays)
    assert seeded
    assert "ConstantOfShape" not in kinds(plain)
    results = [name for node in plain.graph.node for name in node.output if name]
    del plain.graph.output[:]
    plain.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in results)
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype("float32")
    values = run_onnx(OnnxModel(plain, arrays), {plain.graph.input[0].name: image})
    sizes = [float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) for value in values]
    assert all(0.05 < size < 50 for size in sizes[:-1])
    assert sizes[-1] > 0.01
    assert values[-1].max() < 0.99


def test_seeds_decide_the_weights() -> None:
    def weights(seed: int) -> dict[str, bytes]:
        proto = onnx.load(LIGHT / "light_squeezenet.onnx")
        arrays = LargeArrays()
        names = set(seed_placeholders(proto, arrays, seed))
        return {t.name: arrays.array(t).tobytes() for t in proto.graph.initializer if t.name in names}

    assert weights(3) == weights(3)
    assert weights(3) != weights(4)


def test_real_weights_are_left_alone() -> None:
    """A zero state made by ConstantOfShape in a model with weights of its own is no placeholder."""
    weight = np.ones((5, 5), "float32")
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["zero"]),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Add", ["y", "zero"], ["z"]),
    ]
    proto = model(nodes, {"x": [2, 5]}, ["z"], {"w": weight, "size": np.array([5], "int64")})
    assert seed_placeholders(proto, LargeArrays()) == []
    assert kinds(check_same(proto, x=X[0, 0, :2])) == ["MatMul", "Add"]
