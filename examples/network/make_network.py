"""Writes a small residual network as an ONNX file: a stem, two residual blocks, pooling, and a classifier of ten classes."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, CLASSES, SIZE = 8, 10, 32


class Network:
    """Nodes and weights, as they are added."""

    def __init__(self):
        self.nodes, self.weights, self.generator = [], [], np.random.default_rng(0)

    def add(self, operator, *inputs, **attributes):
        """Add a node; returns the name of its result."""
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def weight(self, *shape):
        """Add a weight, scaled so that values keep their size; returns its name."""
        values = self.generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        self.weights.append(numpy_helper.from_array(values.astype("float32"), f"weight{len(self.weights)}"))
        return self.weights[-1].name

    def convolution(self, x, inputs, outputs, size=3):
        """A convolution that keeps rows and columns."""
        return self.add("Conv", x, self.weight(outputs, inputs, size, size), pads=[size // 2] * 4)

    def block(self, x):
        """Two convolutions beside the identity."""
        inner = self.add("Relu", self.convolution(x, CHANNELS, CHANNELS))
        return self.add("Relu", self.add("Add", self.convolution(inner, CHANNELS, CHANNELS), x))


def make_model():
    """The network as an ONNX model."""
    network = Network()
    x = network.add("Relu", network.convolution("data", 4, CHANNELS))
    x = network.add("MaxPool", network.block(x), kernel_shape=[2, 2], strides=[2, 2])
    x = network.add("Flatten", network.add("GlobalAveragePool", network.block(x)))
    x = network.add("Softmax", network.add("MatMul", x, network.weight(CHANNELS, CLASSES)), axis=1)
    data = helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 4, SIZE, SIZE])
    result = helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, CLASSES])
    graph = helper.make_graph(network.nodes, "network", [data], [result], network.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    onnx.save(make_model(), sys.argv[1])
