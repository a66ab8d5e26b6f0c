"""Empty tensors taken out of an ONNX graph: TVM's schedules divide by their size.

ONNX defines RotaryEmbedding over all elements by a Split whose second part is empty, and a Concat that adds it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

SIZES_SINCE = 13
"""The opset whose Split takes its sizes as an operand."""


def drop_empty_tensors(model: ModelProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Take empty tensors out of every Concat, and out of every Split where nothing else reads them, in place.

    shapes: those that are static, by name. What else makes an empty tensor stays.
    """
    empty = {name for name, shape in shapes.items() if 0 in shape}
    if not empty:
        return
    nodes = [_shrink_concat(node, empty) for node in model.graph.node]
    used = {name for node in nodes for name in node.input}.union(value.name for value in model.graph.output)
    if next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) >= SIZES_SINCE:
        nodes = [_shrink_split(model, node, empty - used, shapes) for node in nodes]
    kept = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)


def _shrink_concat(node: NodeProto, empty: Collection[str]) -> NodeProto:
    """The Concat of what is not empty."""
    parts = [name for name in node.input if name not in empty]
    if node.op_type != "Concat" or not parts or len(parts) == len(node.input):
        return node
    if len(parts) == 1:
        return helper.make_node("Identity", parts, list(node.output), name=node.name)
    return _with_operands(node, parts, list(node.output))


def _shrink_split(model: ModelProto, node: NodeProto, unused: Collection[str], shapes: Mapping[str, Sequence[int]]) -> NodeProto:
    """The Split into what is not empty, or read although it is. The model gets a constant, its sizes."""
    parts = [name for name in node.output if name not in unused]
    if node.op_type != "Split" or not parts or len(parts) == len(node.output) or any(name not in shapes for name in parts):
        return node
    if len(parts) == 1:
        return helper.make_node("Identity", [node.input[0]], parts, name=node.name)
    axis = next((int(entry.i) for entry in node.attribute if entry.name == "axis"), 0)
    sizes, listed = f"{parts[0]}/sizes", np.array([shapes[name][axis] for name in parts], np.int64)
    model.graph.initializer.append(numpy_helper.from_array(listed, sizes))
    return _with_operands(node, [node.input[0], sizes], parts)


def _with_operands(node: NodeProto, inputs: Sequence[str], outputs: Sequence[str]) -> NodeProto:
    """The node with other operands and results; a Split counts its parts by their sizes alone."""
    fresh = helper.make_node(node.op_type, inputs, outputs, name=node.name)
    fresh.attribute.extend(entry for entry in node.attribute if entry.name != "num_outputs")
    return fresh
