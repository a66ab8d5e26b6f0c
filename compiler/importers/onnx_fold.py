"""Constant folding on ONNX graphs: Constant nodes, shapes of static tensors, and whatever depends only on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator

from ...golden.onnx_model import LargeArrays

LARGEST = 1 << 28
"""Bytes above which a result stays a node: folding must not blow up a file."""

NOT_FOLDED = ("If", "Loop", "Scan", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial")


class Known(Mapping[str, np.ndarray]):
    """Constants by name; each becomes an array at first access."""

    def __init__(self, tensors: Iterable[onnx.TensorProto], arrays: LargeArrays):
        self._tensors = {tensor.name: tensor for tensor in tensors}
        self._arrays = arrays
        self._values: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._values:
            self._values[name] = self._arrays.array(self._tensors[name])
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors.keys() | self._values.keys())

    def __len__(self) -> int:
        return len(self._tensors.keys() | self._values.keys())

    def add(self, values: Mapping[str, np.ndarray]) -> None:
        self._values.update(values)


def fold_constants(model: ModelProto, arrays: LargeArrays) -> None:
    """Replace nodes with known results by initialisers, until nothing changes.

    Shape inference runs between the rounds: a folded Reshape operand gives the next Shape node its answer.
    """
    while True:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        if not _fold_once(model, arrays, static_shapes(inferred)):
            del model.graph.value_info[:]
            model.graph.value_info.extend(inferred.graph.value_info)
            return


def static_shapes(model: ModelProto) -> dict[str, list[int]]:
    """Shapes that are fully known, by tensor name."""
    found: dict[str, list[int]] = {}
    for value in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            found[value.name] = [dim.dim_value for dim in tensor.shape.dim]
    return found


def _fold_once(model: ModelProto, arrays: LargeArrays, shapes: Mapping[str, list[int]]) -> bool:
    """One pass over the nodes in order; True if any was replaced."""
    graph = model.graph
    known = Known(graph.initializer, arrays)
    opset = {entry.domain: entry.version for entry in model.opset_import}
    kept: list[NodeProto] = []
    fresh: dict[str, np.ndarray] = {}
    for node in graph.node:
        values = _evaluate(node, known, shapes, opset)
        if values is None:
            kept.append(NodeProto.FromString(node.SerializeToString()))
            continue
        known.add(values)
        fresh.update(values)
    if not fresh:
        return False
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(arrays.tensor(value, name) for name, value in fresh.items())
    return True


def _evaluate(
    node: NodeProto, known: Known, shapes: Mapping[str, list[int]], opset: Mapping[str, int]
) -> dict[str, np.ndarray] | None:
    """The node's outputs where they can be computed now, else None."""
    if node.domain not in ("", "ai.onnx") or node.op_type in NOT_FOLDED:
        return None
    if node.op_type == "Shape" and node.input[0] in shapes:
        return {node.output[0]: _shape_value(node, shapes[node.input[0]])}
    if node.op_type == "Size" and node.input[0] in shapes:
        return {node.output[0]: np.array(math.prod(shapes[node.input[0]]), np.int64)}
    if any(name and name not in known for name in node.input):
        return None
    results = _run(node, {name: known[name] for name in node.input if name}, opset)
    if results is None or sum(value.nbytes for value in results.values()) > LARGEST:
        return None
    return results


def _shape_value(node: NodeProto, shape: list[int]) -> np.ndarray:
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[bounds.get("start", 0) : bounds.get("end", len(shape))], np.int64)


def _run(node: NodeProto, feeds: Mapping[str, np.ndarray], opset: Mapping[str, int]) -> dict[str, np.ndarray] | None:
    """Run one node on ONNX's reference evaluator; None if that cannot (the node then stays in the graph)."""
    names = [name for name in node.output if name]
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    graph = helper.make_graph([node], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(k, v) for k, v in opset.items()])
    try:
        results = ReferenceEvaluator(model).run(None, dict(feeds))
    except Exception:  # the evaluator has no common base of its errors, and not folding is always right
        return None
    if any(not isinstance(value, np.ndarray | np.generic) for value in results):
        return None
    return {name: np.asarray(value) for name, value in zip(names, results, strict=True)}
