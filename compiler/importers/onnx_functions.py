"""Operators that TVM's importer lacks, as the operators that ONNX defines them by; and products of quantised tensors.

Many operators of ONNX are functions: their definition is a graph of simpler ones, which depends on types and attributes.
"""

from __future__ import annotations

from collections.abc import Collection

import onnx
from onnx import ModelProto, NodeProto, helper, inliner

from ...golden.onnx_model import LargeArrays
from .onnx_expansions import EXPANSIONS, OPSETS, expand_lacking

OF_OTHER_DOMAINS = ("Attention",)
"""Operators of ONNX whose names TVM's importer knows, from another domain, and reads otherwise."""

FIRST_ALONE = ("LayerNormalization",)
"""Operators for which TVM's importer computes the first result alone, and makes something up for the others."""

PER_CHANNEL_SINCE = 13
"""The opset that has DequantizeLinear along an axis."""


def expand_operators(model: ModelProto, arrays: LargeArrays, known: Collection[str]) -> ModelProto:
    """The model with simpler operators instead of those that are not `known`; the same one where there is none to expand.

    known: names of operators that TVM's importer takes. Shapes and types are static. What has no definition stays.
    """
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    wanted = {node.op_type for node in model.graph.node if _is_lacking(node, known)}
    if not wanted:
        return model
    quantised = wanted & set(PRODUCTS) if opset >= PER_CHANNEL_SINCE else set()
    lacking = {name for name in wanted & set(EXPANSIONS) if opset >= OPSETS.get(name, 0)}
    model = expand_lacking(model, arrays, lacking) if lacking else model
    wanted = {node.op_type for node in model.graph.node if _is_lacking(node, known)}
    functions = {name for name in wanted if _is_function(name, opset)}
    if not functions and not quantised:
        return model
    expanded = onnx.shape_inference.infer_shapes(_split_products(model, quantised), data_prop=True)
    for node in expanded.graph.node:
        if node.op_type in functions:
            _write_defaults(node, opset)
    described = {value.name for value in expanded.graph.value_info}
    expanded.graph.value_info.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        for tensor in expanded.graph.initializer
        if tensor.name not in described
    )
    return inliner.inline_selected_functions(expanded, [("", name) for name in functions], inline_schema_functions=True)


def _is_lacking(node: NodeProto, known: Collection[str]) -> bool:
    """Whether TVM's importer does not take a node, or takes it for another."""
    return node.op_type not in known or node.op_type in OF_OTHER_DOMAINS or (node.op_type in FIRST_ALONE and any(node.output[1:]))


def _write_defaults(node: NodeProto, opset: int) -> None:
    """Give a node the attributes that it leaves to their defaults: the inliner leaves references to them open."""
    given = {entry.name for entry in node.attribute}
    schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=opset)
    node.attribute.extend(
        entry.default_value for name, entry in schema.attributes.items() if name not in given and entry.default_value.name
    )


def _is_function(name: str, opset: int) -> bool:
    if not onnx.defs.has(name, max_inclusive_version=opset):
        return False
    schema = onnx.defs.get_schema(name, max_inclusive_version=opset)
    return bool(schema.has_function or schema.has_context_dependent_function)


PRODUCTS = {"QLinearConv": "Conv", "QLinearMatMul": "MatMul"}
"""A product of quantised tensors -> the operator on what they stand for."""


def _split_products(model: ModelProto, names: Collection[str]) -> ModelProto:
    """A copy with dequantised operands, the operator in floats, and its result quantised: what the quantised one stands for."""
    copy = ModelProto.FromString(model.SerializeToString())
    del copy.graph.node[:]
    for number, node in enumerate(model.graph.node):
        copy.graph.node.extend(_split_product(node, f"quantised{number}") if node.op_type in names else [node])
    return copy


def _split_product(node: NodeProto, prefix: str) -> list[NodeProto]:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *bias = node.input
    convolves = node.op_type == "QLinearConv"
    found = [
        helper.make_node("DequantizeLinear", [x, x_scale, x_zero], [f"{prefix}/x"]),
        helper.make_node("DequantizeLinear", [w, w_scale, w_zero], [f"{prefix}/w"], axis=0 if convolves else -1),
    ]
    operands = [f"{prefix}/x", f"{prefix}/w"]
    if bias and bias[0]:  # its scale is the product of those of the operands
        found += [
            helper.make_node("Cast", [bias[0]], [f"{prefix}/whole"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [x_scale, w_scale], [f"{prefix}/scale"]),
            helper.make_node("Mul", [f"{prefix}/whole", f"{prefix}/scale"], [f"{prefix}/b"]),
        ]
        operands.append(f"{prefix}/b")
    product = helper.make_node(PRODUCTS[node.op_type], operands, [f"{prefix}/y"], name=node.name)
    product.attribute.extend(node.attribute)
    return [*found, product, helper.make_node("QuantizeLinear", [f"{prefix}/y", y_scale, y_zero], list(node.output))]
