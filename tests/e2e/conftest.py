"""A small network as an ONNX file: convolutions, pooling, addition, softmax; it takes a second to check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def small_onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tvm")
    helper, generator = onnx.helper, np.random.default_rng(3)

    def weight(name: str, *shape: int) -> object:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        return onnx.numpy_helper.from_array((generator.standard_normal(shape) * scale).astype("float32"), name)

    nodes = [
        helper.make_node("Conv", ["data", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "p1"], ["a"]),
        helper.make_node("Relu", ["a"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Softmax", ["f"], ["prob"], axis=1),
    ]
    data = helper.make_tensor_value_info("data", onnx.TensorProto.FLOAT, [1, 4, 16, 16])
    prob = helper.make_tensor_value_info("prob", onnx.TensorProto.FLOAT, [1, 8])
    graph = helper.make_graph(nodes, "small", [data], [prob], [weight("w1", 8, 4, 3, 3), weight("w2", 8, 8, 3, 3)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(model, str(path))
    return path
