"""Nodes that TVM's importer takes and reads otherwise than ONNX: written in a way that it reads well, else refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ...base.errors import UnsupportedError
from ..tvm_bridge.versions import import_tvm
from .onnx_names import attributes_of, node_label

Shapes = Mapping[str, Sequence[int]]
Constants = dict[str, TensorProto]
Rewrite = Callable[[NodeProto, str, Shapes, Constants], "list[NodeProto] | None"]

MISREAD: tuple[tuple[str, str, Any, str, str], ...] = (
    ("BatchNormalization", "training_mode", 1, "its passes compute it as at inference", "export it for inference (model.eval())"),
    ("SpaceToDepth", "mode", b"CRD", "its importer reads it as DCR", "write it as Reshape and Transpose"),
    ("RoiAlign", "mode", b"max", "its maximum is of interpolated values, ONNX's of their terms", "use mode avg"),
    ("Resize", "antialias", 1, "its importer leaves the filter out", "export it without antialias, or filter before it"),
)
"""(operator, attribute, value, what TVM does with it, what to do instead)."""


WHOLE = 1e-3
"""How far from a whole number a size may be for the rounding of its scale, a float32."""


def write_readably(model: ModelProto, shapes: Shapes) -> None:
    """Replace the nodes of REWRITES by nodes of the same meaning. shapes: of values, where they are known."""
    nodes: list[NodeProto] = []
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    there = set(constants)
    known = {**shapes, **{name: list(tensor.dims) for name, tensor in constants.items()}}
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    for number, node in enumerate(model.graph.node):
        rewrite = REWRITES.get(node.op_type) if opset >= SINCE.get(node.op_type, 0) else None
        nodes += (rewrite and rewrite(node, f"readable{number}", known, constants)) or [node]
    model.graph.initializer.extend(tensor for name, tensor in constants.items() if name not in there)
    if len(nodes) != len(model.graph.node) or any(new is not old for new, old in zip(nodes, model.graph.node, strict=True)):
        kept = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del model.graph.node[:]
        model.graph.node.extend(kept)


def refuse_misread(model: ModelProto, shapes: Shapes) -> None:
    """UnsupportedError naming the first node that TVM would compute otherwise than ONNX. shapes: of values, where known."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        given = attributes_of(node)
        for operator, name, value, does, instead in MISREAD:
            if node.op_type == operator and given.get(name) == value:
                text = value.decode() if isinstance(value, bytes) else value
                raise _misread(node, f"with {name}={text}", does, instead)
        if may_drop(node, constants):
            raise _misread(node, "with training_mode", "computes it as at inference", "export it for inference (model.eval())")
        if node.op_type == "Resize":
            _refuse_resize(node, given, shapes, constants)
        if node.op_type == "ConvTranspose" and "output_shape" in given:
            raise _misread(node, "with output_shape", "its importer leaves that out", "give pads in its place")


def _misread(node: NodeProto, what: str, does: str, instead: str) -> UnsupportedError:
    return UnsupportedError(
        f"unsupported: ONNX operator {node.op_type} (node {node_label(node)}) {what}: TVM {import_tvm().__version__} takes it, "
        f"but {does}; next: {instead}"
    )


def may_drop(node: NodeProto, constants: Mapping[str, TensorProto]) -> bool:
    """Whether a node is a Dropout that may be one of training: its third input is not known to be false."""
    training = node.input[2] if node.op_type == "Dropout" and len(node.input) > 2 else ""
    return bool(training) and not (training in constants and not numpy_helper.to_array(constants[training]).any())


def _refuse_resize(node: NodeProto, given: Mapping[str, Any], shapes: Shapes, constants: Mapping[str, TensorProto]) -> None:
    """Refuse scales of other axes than the last two, and those by which an axis is not of a whole size: ONNX reads coordinates by
    them, but where corners are aligned."""
    image = shapes.get(node.input[0])
    scales, sizes = (constants.get(name) for name in [*node.input, "", "", ""][2:4])
    by_scale = scales is not None and list(scales.dims) != [0]
    chosen = scales if by_scale else sizes
    if image is None or chosen is None:
        return
    values = numpy_helper.to_array(chosen).astype(np.float64)
    wanted = values * image if by_scale else values
    if list(wanted[:2]) != list(image[:2]):
        raise _misread(
            node, "of the batch or of channels", "its importer leaves them unchanged", "resize the last two axes alone"
        )
    coordinates = given.get("coordinate_transformation_mode", b"half_pixel")
    if coordinates != b"align_corners" and np.any(np.abs(wanted - np.round(wanted)) > WHOLE):
        does, instead = "its importer takes the ratio of the sizes for the scale", "give sizes in their place"
        raise _misread(node, "with scales that give no whole sizes", does, instead)


def _pad_transposed(node: NodeProto, _prefix: str, shapes: Shapes, _constants: Constants) -> list[NodeProto] | None:
    """ConvTranspose of a given output_shape: with the pads that make it so, as the operator's definition says."""
    given = attributes_of(node)
    image, weight = shapes.get(node.input[0]), shapes.get(node.input[1])
    if "output_shape" not in given or image is None or weight is None:
        return None
    axes = len(image) - 2
    wanted = list(given["output_shape"])[-axes:]
    strides, dilations = given.get("strides", [1] * axes), given.get("dilations", [1] * axes)
    more = list(given.get("output_padding", [0] * axes))
    kernel = given.get("kernel_shape", weight[2:])
    upper = given.get("auto_pad", b"NOTSET") == b"SAME_UPPER"
    pads = np.zeros((2, axes), np.int64)
    for axis in range(axes):
        extent = strides[axis] * (image[2 + axis] - 1) + more[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        total = max(0, extent - wanted[axis])
        pads[:, axis] = (total - total // 2, total // 2) if upper else (total // 2, total - total // 2)
        more[axis] += max(0, wanted[axis] - extent)
    rewritten = helper.make_node("ConvTranspose", node.input, node.output, name=node.name, output_padding=more)
    rewritten.attribute.extend(
        entry for entry in node.attribute if entry.name not in ("output_shape", "auto_pad", "pads", "output_padding")
    )
    rewritten.attribute.append(helper.make_attribute("pads", pads.reshape(-1).tolist()))
    return [rewritten]


def _choose_infinities(node: NodeProto, prefix: str, _shapes: Shapes, _constants: Constants) -> list[NodeProto] | None:
    """IsInf of one sign: where the value is its magnitude, or is not. Constants would need the type."""
    given = attributes_of(node)
    positive, negative = given.get("detect_positive", 1), given.get("detect_negative", 1)
    if positive and negative:
        return None
    names = {part: f"{prefix}/{part}" for part in ("infinite", "magnitude", "positive", "negative")}
    nodes = [
        helper.make_node("IsInf", node.input, [names["infinite"]], name=node.name),
        helper.make_node("Abs", node.input, [names["magnitude"]]),
        helper.make_node("Equal", [node.input[0], names["magnitude"]], [names["positive"]]),
        helper.make_node("Not", [names["positive"]], [names["negative"]]),
    ]
    if not positive and not negative:
        return [*nodes, helper.make_node("And", [names["positive"], names["negative"]], node.output)]
    return [*nodes, helper.make_node("And", [names["infinite"], names["positive" if positive else "negative"]], node.output)]


def _make_mask(node: NodeProto, prefix: str, _shapes: Shapes, _constants: Constants) -> list[NodeProto] | None:
    """Dropout whose mask is asked for: at inference it keeps everything."""
    if len(node.output) < 2 or not node.output[1]:
        return None
    nans, others = f"{prefix}/nans", f"{prefix}/others"
    dropout = helper.make_node("Dropout", node.input, node.output[:1], name=node.name)
    dropout.attribute.extend(node.attribute)
    return [
        dropout,
        helper.make_node("IsNaN", node.input[:1], [nans]),
        helper.make_node("Not", [nans], [others]),
        helper.make_node("Or", [nans, others], node.output[1:2]),
    ]


def _resize_all_axes(node: NodeProto, prefix: str, shapes: Shapes, constants: Constants) -> list[NodeProto] | None:
    """Resize of some axes, or one that keeps the ratio of sides: with the scale or the size of every axis."""
    given, image = attributes_of(node), shapes.get(node.input[0])
    policy = given.get("keep_aspect_ratio_policy", b"stretch")
    inputs = [*node.input, "", "", ""][:4]
    which = 3 if inputs[3] else 2
    if image is None or inputs[which] not in constants or inputs[1] or ("axes" not in given and policy == b"stretch"):
        return None
    axes = [axis % len(image) for axis in given.get("axes", range(len(image)))]
    values = numpy_helper.to_array(constants[inputs[which]])
    if which == 3 and policy != b"stretch":
        ratios = [float(value) / image[axis] for value, axis in zip(values, axes, strict=True)]
        ratio = min(ratios) if policy == b"not_larger" else max(ratios)
        values = np.array([int(np.floor(ratio * image[axis] + 0.5)) for axis in axes])
    every = np.ones(len(image), np.float32) if which == 2 else np.array(image, np.int64)
    every[axes] = values
    inputs[which] = f"{prefix}/every"
    constants[inputs[which]] = numpy_helper.from_array(every, inputs[which])
    rewritten = helper.make_node("Resize", inputs[: which + 1], node.output, name=node.name)
    rewritten.attribute.extend(entry for entry in node.attribute if entry.name not in ("axes", "keep_aspect_ratio_policy"))
    return [rewritten]


REWRITES: dict[str, Rewrite] = {
    "ConvTranspose": _pad_transposed, "IsInf": _choose_infinities, "Dropout": _make_mask, "Resize": _resize_all_axes,
}  # fmt: skip
"""Operator -> the nodes of the same meaning for one of it; None if it stays unchanged."""

SINCE = {"Dropout": 10}
"""The opset from which a rewrite has the type that the operator has."""
