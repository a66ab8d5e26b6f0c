"""How far ONNX Runtime's own last operators are off. Some of its kernels are approximations with a fixed absolute error, as that
of Sigmoid, which says nothing near zero. Measured against ONNX's definition in float64, on the operands ONNX Runtime had."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ..base.errors import AdrenoSimError
from .model_reference import run_onnx
from .onnx_model import OnnxModel

MOVES = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice")
"""Operators that compute nothing: what is off behind them was off before."""

ELEMENTWISE = (
    "Sigmoid", "Tanh", "Exp", "Log", "Erf", "Softplus", "Elu", "Selu", "Celu", "Mish", "Gelu", "Softmax", "LogSoftmax",
    "HardSigmoid", "HardSwish", "Softsign", "Sin", "Cos", "Atan", "Sqrt",
)  # fmt: skip
"""Operators whose definition in float64 costs no more than they do."""


def last_errors(model: OnnxModel, inputs: Mapping[str, np.ndarray]) -> dict[int, tuple[str, np.ndarray]]:
    """{number of an output: (operator, error of each element)} of the float outputs whose last operator is elementwise.

    An error is what the operator gives, minus what ONNX defines, on the same operands: no other operator has a part in it.
    """
    proto = model.proto
    tails = {number: tail for number, output in enumerate(proto.graph.output) if (tail := _tail(proto, output.name))}
    sources = sorted({tail[0].input[0] for tail in tails.values()})
    if not tails:
        return {}
    try:
        outputs = run_onnx(OnnxModel(_exposing(proto, sources), model.arrays), inputs)
    except AdrenoSimError:
        return {}
    operands = dict(zip(sources, outputs[len(proto.graph.output) :], strict=True))
    found = {}
    for number, tail in tails.items():
        exact = _evaluate(model, tail, operands[tail[0].input[0]])
        if exact is not None and exact.shape == outputs[number].shape:
            with np.errstate(invalid="ignore"):
                error = np.abs(outputs[number].astype(np.float64) - exact)
            found[number] = (tail[0].op_type, np.nan_to_num(error, nan=0.0, posinf=0.0))
    return found


def _tail(model: ModelProto, output: str) -> list[NodeProto]:
    """The nodes from the last operator that computes to an output, in order; [] where it is none that can be judged."""
    makers = {name: node for node in model.graph.node for name in node.output}
    found: list[NodeProto] = []
    name = output
    while (node := makers.get(name)) is not None:
        found.insert(0, node)
        if node.op_type not in MOVES:
            return found if node.op_type in ELEMENTWISE and len(node.input) == 1 else []
        name = node.input[0]
    return []


def _exposing(model: ModelProto, names: list[str]) -> ModelProto:
    """The model with more outputs."""
    copy = ModelProto.FromString(model.SerializeToString())
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy


def _evaluate(model: OnnxModel, tail: list[NodeProto], operand: np.ndarray) -> np.ndarray | None:
    """What the nodes give of an operand by ONNX's definition, in float64; None if it has none that runs."""
    from onnx.reference import ReferenceEvaluator

    assert all(list(before.output) == list(after.input[:1]) for before, after in pairwise(tail))
    first, last = tail[0].input[0], tail[-1].output[0]
    needed = {name for node in tail for name in node.input[1:]}
    graph = helper.make_graph(
        tail,
        "tail",
        [helper.make_tensor_value_info(first, TensorProto.DOUBLE, operand.shape)],
        [helper.make_tensor_value_info(last, TensorProto.DOUBLE, None)],
        [numpy_helper.from_array(model.arrays.array(t), t.name) for t in model.proto.graph.initializer if t.name in needed],
    )
    try:
        (exact,) = ReferenceEvaluator(helper.make_model(graph, opset_imports=model.proto.opset_import)).run(
            None, {first: operand.astype(np.float64)}
        )
    except Exception:  # the evaluator raises what NumPy and its own checks raise
        return None
    return np.asarray(exact, np.float64)
