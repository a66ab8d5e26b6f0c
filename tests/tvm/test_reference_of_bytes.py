"""ONNX Runtime is asked for exact products of bytes: without VNNI its own would saturate in 16 bits, and right code fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper

from adreno_sim.compiler.importers.onnx_file import take_model
from adreno_sim.golden import model_reference
from adreno_sim.golden.model_reference import run_onnx
from adreno_sim.golden.onnx_model import LARGE

pytestmark = pytest.mark.tvm

BYTES = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


def product(operator: str, depth: int, columns: int, activation: str, weights: np.ndarray) -> Any:
    """[2, depth] bytes by [depth, columns] bytes, to numbers of 32 bits; QLinearMatMul adds columns of a scale."""
    value, quantised = helper.make_tensor_value_info, operator == "QLinearMatMul"
    constants = {"w": weights, "xz": np.zeros((), activation), "wz": np.zeros((), "int8")}
    if quantised:
        scale = np.float32(1 / (2 * depth))
        constants |= {"xs": np.float32(1), "ws": scale, "ys": np.float32(1), "yz": np.zeros((), activation)}
    operands = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"] if quantised else ["x", "w", "xz", "wz"]
    graph = helper.make_graph(
        [helper.make_node(operator, operands, ["y"])],
        "graph",
        [value("x", BYTES[activation], (2, depth))],
        [value("y", BYTES[activation] if quantised else TensorProto.INT32, (2, columns))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("columns", [8, 2048])
@pytest.mark.parametrize("activation", BYTES)
@pytest.mark.parametrize("operator", ["MatMulInteger", "QLinearMatMul"])
def test_products_of_bytes_do_not_saturate(operator: str, activation: str, columns: int) -> None:
    depth = 64
    random = np.random.default_rng(columns)
    weights = random.integers(-128, 128, (depth, columns)).astype("int8")
    assert (weights.size > LARGE) == (columns == 2048), "one that lies beside the graph, one within"
    limits = np.iinfo(activation)
    x = random.choice([limits.min, limits.max], (2, depth)).astype(activation)
    (found,) = run_onnx(take_model(product(operator, depth, columns, activation, weights)), {"x": x})
    expected = x.astype("int64") @ weights.astype("int64")
    if operator == "QLinearMatMul":
        expected = np.clip(np.rint(expected * np.float64(np.float32(1 / (2 * depth)))), limits.min, limits.max)
    np.testing.assert_array_equal(found, expected)


def test_a_convolution_of_bytes_between_floats() -> None:
    """QuantizeLinear, Conv of what DequantizeLinear gives, which ONNX Runtime makes one QLinearConv."""
    random = np.random.default_rng(3)
    weights = random.integers(-128, 128, (128, 64, 3, 3)).astype("int8")
    assert weights.size > LARGE
    one, value = np.float32(2**-14), helper.make_tensor_value_info
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"]),
        helper.make_node("Conv", ["xf", "wf"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "ys", "yz"], ["cq"]),
        helper.make_node("DequantizeLinear", ["cq", "ys", "yz"], ["y"]),
    ]
    constants = {"w": weights, "xs": np.float32(1), "xz": np.uint8(0), "ws": one, "wz": np.int8(0),
                 "ys": np.float32(1), "yz": np.uint8(128)}  # fmt: skip
    graph = helper.make_graph(
        nodes, "graph", [value("x", TensorProto.FLOAT, (1, 64, 3, 3))], [value("y", TensorProto.FLOAT, (1, 128, 1, 1))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )  # fmt: skip
    network = take_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    x = random.choice([0, 255], (1, 64, 3, 3)).astype("float32")
    (found,) = run_onnx(network, {"x": x})
    exact = np.einsum("oihw,ihw->o", weights.astype("int64"), x[0].astype("int64")) * float(one)
    np.testing.assert_array_equal(found.reshape(-1), np.clip(np.rint(exact), -128, 127))


@pytest.mark.parametrize("processors", [{0}, {3, 5, 6}])
def test_no_more_threads_than_processors_that_the_process_may_use(processors, monkeypatch):
    """Its default is a thread on each processor of the machine, which spins beside other cases of a sweep."""
    monkeypatch.setattr(model_reference.os, "sched_getaffinity", lambda _process: processors)
    model = product("MatMulInteger", 4, 8, "uint8", np.ones((4, 8), "int8"))
    options = model_reference._open_session(model.SerializeToString()).get_session_options()
    assert options.intra_op_num_threads == len(processors)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
