"""Seeded weights for ONNX files that carry only placeholders (every weight a ConstantOfShape node).

The values follow from the seed and each tensor's name and role, and are scaled so that activations keep a size of
about one through the network, and a softmax at the end separates its classes: saturated, vanishing or overflowing
activations would make every comparison uninformative.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from ...golden.onnx_model import LargeArrays
from ...records import dataclass

LOGIT_GAIN = 6.0
"""Gain of the last weighted layer before a Softmax: with less, a thousand classes all get the same share."""

RELU_GAIN = math.sqrt(2.0)
"""Gain of a layer before a ReLU, which takes half of the second moment."""

BRANCH_GAIN = 0.5
"""Gain of the last layer of a residual branch: a sum of many branches must not grow with the depth."""

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
PASS_ON = ("Unsqueeze", "Squeeze", "Reshape", "Identity", "Cast", "Flatten", "Transpose")
KEEPS_LAYER = (*PASS_ON, "BatchNormalization", "Mul", "Add", "Sum", "Relu", "AveragePool", "GlobalAveragePool")


@dataclass(frozen=True)
class Role:
    """What a tensor is for: the node that reads it, and as which operand."""

    node: NodeProto
    operand: int


def seed_placeholders(model: ModelProto, arrays: LargeArrays, seed: int = 0) -> list[str]:
    """Turn the placeholder weights into initialisers; the names of those seeded.

    A placeholder is a float ConstantOfShape node with a constant shape, in a model none of whose layers has weights.
    """
    graph = model.graph
    if _has_weights(model):
        return []
    shapes = {tensor.name: arrays.array(tensor) for tensor in graph.initializer}
    seeded: list[str] = []
    kept: list[NodeProto] = []
    gains = _Gains(model)
    for node in graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None or shape.size == 0 or not _is_float(node):
            kept.append(NodeProto.FromString(node.SerializeToString()))
            continue
        name = node.output[0]
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        value = gains.draw(name, tuple(int(size) for size in shape), generator)
        graph.initializer.append(arrays.tensor(value, name))
        seeded.append(name)
    del graph.node[:]
    graph.node.extend(kept)
    return seeded


def _has_weights(model: ModelProto) -> bool:
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {node.output[0] for node in model.graph.node if node.op_type == "Constant"}
    return any(node.op_type in LAYERS and len(node.input) > 1 and node.input[1] in constants for node in model.graph.node)


def _is_float(node: NodeProto) -> bool:
    fill = next((numpy_helper.to_array(a.t) for a in node.attribute if a.name == "value"), np.zeros(1, np.float32))
    return fill.dtype == np.float32


class _Gains:
    """Generates a tensor by its role."""

    def __init__(self, model: ModelProto):
        self._readers: dict[str, list[Role]] = {}
        self._producer = {name: node for node in model.graph.node for name in node.output}
        self._constant = {tensor.name for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "ConstantOfShape" or (node.op_type in PASS_ON and node.input[0] in self._constant):
                self._constant.update(node.output)
            for i, name in enumerate(node.input):
                self._readers.setdefault(name, []).append(Role(node, i))

    def draw(self, name: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        role = self._role(name)
        kind, operand = (role.node.op_type, role.operand) if role else ("", 0)
        if kind in LAYERS and operand == 1:
            assert role is not None
            return _normal(generator, self._layer_gain(role.node) / math.sqrt(_fan_in(role.node, shape)), shape)
        if (kind == "BatchNormalization" and operand in (1, 4)) or kind == "Mul":
            return generator.uniform(0.7, 1.3, shape).astype(np.float32)
        return _normal(generator, 0.1 * (self._layer_gain(role.node) if role else 1.0), shape)

    def _role(self, name: str) -> Role | None:
        """The first reader that is more than a change of shape."""
        for role in self._readers.get(name, []):
            if role.node.op_type not in PASS_ON:
                return role
            return self._role(role.node.output[0])
        return None

    def _layer_gain(self, node: NodeProto) -> float:
        return self._gain_towards(node.output[0]) / self._growth(self._producer.get(node.input[0]))

    @staticmethod
    def _growth(producer: NodeProto | None) -> float:
        """How much larger than its inputs, about, the result of the node a layer reads is: a maximum over windows grows."""
        if producer is None or producer.op_type != "MaxPool":
            return 1.0
        window = next((attribute.ints for attribute in producer.attribute if attribute.name == "kernel_shape"), [1])
        return math.prod(window) ** 0.3

    def _gain_towards(self, name: str) -> float:
        """By what a layer's result goes into, past normalisation, biases and pooling."""
        while True:
            readers = self._readers.get(name, [])
            kinds = {role.node.op_type for role in readers}
            if "Softmax" in kinds:
                return LOGIT_GAIN
            if "Relu" in kinds and not self._reaches_softmax(name):
                return RELU_GAIN
            if len(readers) != 1 or not kinds.issubset(KEEPS_LAYER):
                return 1.0
            if kinds <= {"Add", "Sum"} and not self._adds_constant(readers[0].node):
                return BRANCH_GAIN
            name = readers[0].node.output[0]

    def _adds_constant(self, node: NodeProto) -> bool:
        return any(name in self._constant for name in node.input)

    def _reaches_softmax(self, name: str) -> bool:
        readers = self._readers.get(name, [])
        if len(readers) != 1:
            return False
        node = readers[0].node
        return node.op_type == "Softmax" or (node.op_type in KEEPS_LAYER and self._reaches_softmax(node.output[0]))


def _normal(generator: np.random.Generator, scale: float, shape: tuple[int, ...]) -> np.ndarray:
    values = generator.standard_normal(shape, np.float32)
    values *= np.float32(scale)
    return values


def _fan_in(node: NodeProto, shape: tuple[int, ...]) -> int:
    """Products summed per output element."""
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "Gemm":
        return shape[-1] if attributes.get("transB", 0) else math.prod(shape[:-1])
    if node.op_type == "MatMul":
        return shape[-2] if len(shape) > 1 else shape[0]
    return math.prod(shape[1:]) if node.op_type == "Conv" else shape[0] * math.prod(shape[2:])
