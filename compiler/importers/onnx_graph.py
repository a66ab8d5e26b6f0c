"""ONNX graphs made plain before TVM's importer sees them: static shapes, constants as initialisers, no no-ops.

Each rewrite keeps the function the graph computes (at inference). The result is again a valid ONNX model, so that
ONNX Runtime can judge the very same graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import onnx
from onnx import ModelProto, NodeProto, helper

from ...base.errors import AdrenoSimError
from ...golden.onnx_model import LargeArrays
from .fixed_inputs import Values, fill, require_inputs
from .onnx_control import inline_control_flow, rename_values, require_one_shape
from .onnx_empty import drop_empty_tensors
from .onnx_fold import fold_constants, static_shapes
from .onnx_misread import may_drop, write_readably
from .onnx_recurrent import unroll_recurrent

Shapes = Mapping[str, Sequence[int]]

M = TypeVar("M", onnx.NodeProto, onnx.TensorProto, onnx.ValueInfoProto)

BATCH = 1
"""What an unknown first dimension becomes when no shape is given."""


def graph_inputs(model: ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs a caller feeds: graph inputs that are not initialisers (old models list those too)."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def simplify(model: ModelProto, arrays: LargeArrays, shapes: Shapes | None = None, values: Values | None = None) -> ModelProto:
    """Give `model` static input shapes and a plain graph, in place; the model itself is returned.

    arrays: of its large initialisers, which grow by those that are made. shapes: input name -> full shape, for inputs with
    unknown dimensions. values: input name -> the number that it becomes, a constant. AdrenoSimError if one does not fit the
    model, or a shape is missing for a dimension other than the batch.
    """
    drop_constant_inputs(model)
    fix_shapes(model, shapes or {})
    fix_values(model, values or {}, arrays)
    remove_identities(model)
    split_sums(model)
    fold_constants(model, arrays)
    chosen: dict[str, str] = {}
    while inline_control_flow(model, arrays, chosen):
        remove_identities(model)
        split_sums(model)
        fold_constants(model, arrays)
    shapes_found = static_shapes(model)
    require_one_shape(model, chosen, shapes_found)
    unroll_recurrent(model, arrays, shapes_found)
    write_readably(model, shapes_found)
    drop_empty_tensors(model, shapes_found)
    remove_identities(model)
    drop_unused(model)
    return model


def drop_constant_inputs(model: ModelProto) -> None:
    """Take initialisers off the input list, where old models have them."""
    keep = [_copy(value) for value in graph_inputs(model)]
    del model.graph.input[:]
    model.graph.input.extend(keep)


def input_dims(value: onnx.ValueInfoProto) -> list[int | None]:
    """Dimensions of a graph input, None if unknown (symbolic, missing, zero or negative)."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.dim_value > 0 else None for dim in dims]


def fix_shapes(model: ModelProto, shapes: Shapes) -> None:
    """Write the given shapes, and batch 1 where only the batch is unknown, into the graph's inputs."""
    names = [value.name for value in model.graph.input]
    for name in shapes:
        if name not in names:
            raise AdrenoSimError(f"shape given for {name!r}, but the inputs are {', '.join(names)}")
    for value in model.graph.input:
        shape = _static_shape(value, shapes.get(value.name))
        tensor = value.type.tensor_type
        del tensor.shape.dim[:]
        for size in shape:
            tensor.shape.dim.add().dim_value = size
    del model.graph.value_info[:]  # written for the shapes the model was exported with
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def fix_values(model: ModelProto, values: Values, arrays: LargeArrays) -> None:
    """Make constants of the inputs that have values; shapes are static."""
    require_inputs(values, [value.name for value in model.graph.input])
    for value in model.graph.input:
        if value.name in values:
            tensor = value.type.tensor_type
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            array = fill(value.name, values[value.name], [dim.dim_value for dim in tensor.shape.dim], dtype)
            model.graph.initializer.append(arrays.tensor(array, value.name))
    drop_constant_inputs(model)


def _static_shape(value: onnx.ValueInfoProto, given: Sequence[int] | None) -> list[int]:
    dims = input_dims(value)
    text = "x".join("?" if dim is None else str(dim) for dim in dims)
    if given is not None:
        fits = len(given) == len(dims) and all(dim in (None, size) for dim, size in zip(dims, given, strict=True))
        if not fits or any(size <= 0 for size in given):
            raise AdrenoSimError(f"shape {'x'.join(map(str, given))} does not fit input {value.name!r}, which is {text}")
        return list(given)
    if dims and dims[0] is None:
        dims[0] = BATCH
    if None in dims:
        raise AdrenoSimError(f"input {value.name!r} has unknown dimensions ({text}): give its shape, --shape {value.name}=...")
    return [dim for dim in dims if dim is not None]


def remove_identities(model: ModelProto) -> None:
    """Drop Identity and Dropout (which passes its input on at inference), joining producer and consumers."""
    graph = model.graph
    results = {value.name for value in graph.output}
    renamed: dict[str, str] = {}
    kept: list[NodeProto] = []
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        rename_values(node, renamed)
        if node.op_type in ("Identity", "Dropout") and node.domain in ("", "ai.onnx") and not may_drop(node, constants):
            if node.output[0] not in results and not any(_is_used(graph, name) for name in node.output[1:]):
                renamed[node.output[0]] = node.input[0]
                continue
            if len(node.output) == 1 or not any(_is_used(graph, name) for name in node.output[1:]):
                node = helper.make_node("Identity", [node.input[0]], [node.output[0]], name=node.name)
        kept.append(node)
    _replace_nodes(model, kept)


def _is_used(graph: onnx.GraphProto, name: str) -> bool:
    return bool(name) and (any(name in node.input for node in graph.node) or any(name == v.name for v in graph.output))


def split_sums(model: ModelProto) -> None:
    """Write every Sum as a chain of two-operand Adds, in the order of its operands."""
    kept: list[NodeProto] = []
    for node in model.graph.node:
        if node.op_type != "Sum":
            kept.append(node)
            continue
        total = node.input[0]
        for i, term in enumerate(node.input[1:], 1):
            result = node.output[0] if i == len(node.input) - 1 else f"{node.output[0]}_sum{i}"
            kept.append(helper.make_node("Add", [total, term], [result], name=f"{node.name}_{i}"))
            total = result
        if len(node.input) == 1:
            kept.append(helper.make_node("Identity", [total], list(node.output), name=node.name))
    _replace_nodes(model, kept)


def drop_unused(model: ModelProto) -> None:
    """Drop nodes and initialisers that no output depends on."""
    graph = model.graph
    needed = {value.name for value in graph.output}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if needed.intersection(node.output) or _has_subgraph(node):
            needed.update(node.input)
            kept.append(node)
    _replace_nodes(model, kept[::-1])
    for i in reversed(range(len(graph.initializer))):
        if graph.initializer[i].name not in needed:
            del graph.initializer[i]


def _has_subgraph(node: NodeProto) -> bool:
    return any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute)


def _copy(message: M) -> M:
    """A copy that stays valid after its list is cleared."""
    fresh = type(message)()
    fresh.CopyFrom(message)
    return fresh


def _replace_nodes(model: ModelProto, nodes: Sequence[NodeProto]) -> None:
    copies = [_copy(node) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)
