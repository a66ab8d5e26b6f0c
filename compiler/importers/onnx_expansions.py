"""Operators that TVM's importer lacks and ONNX defines by no graph that it takes, as graphs of simpler operators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ...golden.onnx_model import LargeArrays
from .onnx_fold import Known

Constants = Mapping[str, np.ndarray]
Expansion = Callable[[NodeProto, str, Constants], Sequence[NodeProto]]

EXACT_FLOATS = 2**24
"""Up to here every whole number is a float32."""


def expand_lacking(model: ModelProto, arrays: LargeArrays, wanted: Collection[str]) -> ModelProto:
    """A copy in which the operators of EXPANSIONS among `wanted` are expanded; a node that no graph stands for stays."""
    copy = ModelProto.FromString(model.SerializeToString())
    constants = Known(copy.graph.initializer, arrays)
    del copy.graph.node[:]
    for number, node in enumerate(model.graph.node):
        expand = EXPANSIONS.get(node.op_type) if node.op_type in wanted else None
        copy.graph.node.extend(expand(node, f"expanded{number}", constants) if expand else [node])
    return copy


def _attribute(node: NodeProto, name: str, default: float) -> float:
    return next((float(helper.get_attribute_value(entry)) for entry in node.attribute if entry.name == name), default)


def _normalise(node: NodeProto, prefix: str, _constants: Constants) -> list[NodeProto]:
    """LpNormalization: divided by the norm, and where that is 0 by 1. Constants would need the type, so that 0 is n - n."""
    axis, order = int(_attribute(node, "axis", -1)), int(_attribute(node, "p", 2))
    names = {part: f"{prefix}/{part}" for part in ("axes", "norm", "zero", "one", "none", "by")}
    return [
        helper.make_node("Constant", [], [names["axes"]], value=numpy_helper.from_array(np.array([axis]))),
        helper.make_node(f"ReduceL{order}", [node.input[0], names["axes"]], [names["norm"]], name=node.name, keepdims=1),
        helper.make_node("Sub", [names["norm"], names["norm"]], [names["zero"]]),
        helper.make_node("Exp", [names["zero"]], [names["one"]]),
        helper.make_node("Equal", [names["norm"], names["zero"]], [names["none"]]),
        helper.make_node("Where", [names["none"], names["one"], names["norm"]], [names["by"]]),
        helper.make_node("Div", [node.input[0], names["by"]], list(node.output)),
    ]


def _swish(node: NodeProto, prefix: str, _constants: Constants) -> list[NodeProto]:
    """x * sigmoid(alpha * x)."""
    alpha, inner, x = _attribute(node, "alpha", 1.0), f"{prefix}/scaled", node.input[0]
    scaled = [
        helper.make_node("Constant", [], [f"{prefix}/alpha"], value=numpy_helper.from_array(np.float32(alpha))),
        helper.make_node("CastLike", [f"{prefix}/alpha", x], [f"{prefix}/like"]),
        helper.make_node("Mul", [x, f"{prefix}/like"], [inner]),
    ]
    return [
        *(scaled if alpha != 1 else []),
        helper.make_node("Sigmoid", [inner if alpha != 1 else x], [f"{prefix}/gate"], name=node.name),
        helper.make_node("Mul", [x, f"{prefix}/gate"], list(node.output)),
    ]


def _convolve(node: NodeProto, prefix: str, constants: Constants) -> list[NodeProto]:
    """ConvInteger: a convolution of floats, where constant weights show that no sum leaves the whole numbers that these hold."""
    x, w, *zeros = node.input
    zero_of = dict(zip((x, w), zeros, strict=False))
    if not _is_exact(constants.get(w), zero_of.get(w, ""), constants):
        return [node]
    nodes, operands = [], []
    for part, name in (("x", x), ("w", w)):
        nodes.append(helper.make_node("Cast", [name], [f"{prefix}/{part}"], to=TensorProto.FLOAT))
        operands.append(f"{prefix}/{part}")
        if zero_of.get(name):
            zero, moved = f"{prefix}/{part}_zero", f"{prefix}/{part}_moved"
            nodes.append(helper.make_node("Cast", [zero_of[name]], [zero], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Sub", [operands.pop(), zero], [moved]))
            operands.append(moved)
    product = helper.make_node("Conv", operands, [f"{prefix}/y"], name=node.name)
    product.attribute.extend(node.attribute)
    return [*nodes, product, helper.make_node("Cast", [f"{prefix}/y"], list(node.output), to=TensorProto.INT32)]


def _is_exact(weights: np.ndarray | None, zero: str, constants: Constants) -> bool:
    """Whether sums over any bytes, less a zero point, are whole numbers of float32. One zero point for all weights."""
    if weights is None or (zero and (zero not in constants or constants[zero].size != 1)):
        return False
    by = constants[zero].astype(np.int64).reshape(()) if zero else 0
    values = np.abs(weights.astype(np.int64) - by)
    return int(values.reshape(len(values), -1).sum(axis=1).max(initial=0)) * 255 < EXACT_FLOATS


EXPANSIONS: dict[str, Expansion] = {"LpNormalization": _normalise, "Swish": _swish, "ConvInteger": _convolve}
"""Operator -> the nodes that stand for one of it."""

OPSETS = {"LpNormalization": 18}
"""The opset from which an expansion's operators take what it gives them."""
