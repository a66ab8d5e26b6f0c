"""ONNX to Relax: read, make plain, hand to TVM's importer, and say which node it was where that fails."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import onnx

from ...base.errors import AdrenoSimError, UnsupportedError
from ...golden.onnx_model import OnnxModel
from ..tvm_bridge.versions import import_tvm
from .fixed_inputs import Values
from .model import Model, ModelInput, Shapes, module_inputs
from .onnx_fold import static_shapes
from .onnx_functions import expand_operators
from .onnx_graph import simplify
from .onnx_misread import refuse_misread
from .onnx_names import node_label, watching_importer, with_node_names
from .onnx_weights import seed_placeholders

if TYPE_CHECKING:
    from tvm import IRModule


def import_onnx(model: OnnxModel, name: str, shapes: Shapes | None = None, seed: int = 0, values: Values | None = None) -> Model:
    """A Model of an ONNX graph, whose messages are changed.

    Raises AdrenoSimError for a broken graph or shapes and values that do not fit, UnsupportedError naming operator and node.
    """
    plain, arrays = model.proto, model.arrays
    _refuse_foreign_operators(plain)
    try:
        seeded = seed_placeholders(plain, arrays, seed)
        plain = simplify(plain, arrays, shapes, values)
        expanded = expand_operators(plain, arrays, _known_operators())
        plain = plain if expanded is plain else simplify(expanded, arrays)
    except AdrenoSimError:
        raise
    except Exception as error:  # shape inference and the protobuf layer raise several kinds
        raise AdrenoSimError(f"{name}: broken ONNX graph: {_first_line(error)}") from error
    _rename_inputs(plain)
    refuse_misread(plain, static_shapes(plain))
    _refuse_unknown_operators(plain)
    plain = onnx.ModelProto.FromString(plain.SerializeToString())  # what was dropped on the way takes no memory any more
    arrays.keep_used(plain)
    module = to_relax(OnnxModel(plain, arrays), name)
    inputs = _named_as_in_file(module_inputs(module), plain)
    return Model(name, module, inputs, OnnxModel(plain, arrays), tuple(seeded))


def _rename_inputs(model: onnx.ModelProto) -> None:
    """Make input names valid identifiers: "gpu_0/data_0" -> "gpu_0_data_0"."""
    taken = {name for node in model.graph.node for name in [*node.input, *node.output]}
    for value in model.graph.input:
        plain = re.sub(r"\W", "_", value.name)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"input_{plain}"
        if plain == value.name or plain in taken:
            continue
        for node in model.graph.node:
            for i, name in enumerate(node.input):
                if name == value.name:
                    node.input[i] = plain
        for output in model.graph.output:
            output.name = plain if output.name == value.name else output.name
        value.name = plain


def _refuse_foreign_operators(model: onnx.ModelProto) -> None:
    """Name the operators of other domains than ONNX's, which shape inference already stops at."""
    _refuse([node for node in model.graph.node if node.domain not in ("", "ai.onnx")])


def _refuse_unknown_operators(model: onnx.ModelProto) -> None:
    """Name every operator TVM's importer lacks."""
    known = _known_operators()
    _refuse([node for node in model.graph.node if node.op_type not in known])


def _known_operators() -> set[str]:
    import_tvm()
    from tvm.relax.frontend.onnx import onnx_frontend

    return {*onnx_frontend._get_convert_map(), "If"}


def _refuse(nodes: list[onnx.NodeProto]) -> None:
    """UnsupportedError for these nodes, if any: each operator with the first node that needs it."""
    missing: dict[str, str] = {}
    for node in nodes:
        missing.setdefault(f"{node.domain}.{node.op_type}" if node.domain else node.op_type, node_label(node))
    if missing:
        listed = ", ".join(f"{operator} (node {node})" for operator, node in missing.items())
        raise UnsupportedError(f"unsupported: ONNX operator {listed}: TVM {import_tvm().__version__} does not import it{NEXT}")


def to_relax(model: OnnxModel, name: str) -> IRModule:
    """The Relax module of a plain graph, whose constants are the arrays of its initialisers. UnsupportedError naming operator and
    node."""
    from tvm.relax.frontend.onnx import from_onnx

    proto = model.proto

    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with watching_importer(model.arrays) as results:
                module = from_onnx(proto)
    except Exception as error:  # the importer raises whatever TVM raises
        node = _node_of(error)
        if node is None:
            raise UnsupportedError(
                f"unsupported: TVM cannot import {name}: {_typed_inputs(proto, str(error))}{_say(error)}"
            ) from error
        raise UnsupportedError(
            f"unsupported: ONNX operator {node.op_type} (node {node_label(node)}): TVM's importer refuses it: {_say(error)}; "
            "next: check its attributes and shapes, or export it as other operators or with another opset"
        ) from error
    return with_node_names(module, proto.graph, results, lambda node: f"{node.op_type} {node_label(node)}")


NEXT = "; next: export it as other operators, or with another opset"
"""What to do about an operator that TVM's importer does not take."""


def _typed_inputs(model: onnx.ModelProto, said: str) -> str:
    """The inputs of the type that an error speaks of, which TVM names alone."""
    for value in model.graph.input:
        kind = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()
        if kind in said or (kind == "string" and "object" in said):
            return f"input {value.name} is {kind}: "
    return ""


def _say(error: BaseException) -> str:
    """What an error says; of one that only Python's own names are in, its class too."""
    text = _first_line(error)
    return f"{type(error).__name__}: {text}" if isinstance(error, (LookupError, AttributeError, TypeError)) else text


def _node_of(error: BaseException) -> onnx.NodeProto | None:
    """The node TVM's importer was at: the local variable of its loop over the nodes."""
    trace = error.__traceback__
    while trace is not None:
        node: Any = trace.tb_frame.f_locals.get("node")
        if trace.tb_frame.f_code.co_name == "_construct_nodes" and isinstance(node, onnx.NodeProto):
            return node
        trace = trace.tb_next
    return None


def _named_as_in_file(inputs: tuple[ModelInput, ...], model: onnx.ModelProto) -> tuple[ModelInput, ...]:
    """The parameters under the names of the plain graph's inputs, which TVM's importer may have changed again."""
    names = [value.name for value in model.graph.input]
    return tuple(ModelInput(name, item.shape, item.dtype) for name, item in zip(names, inputs, strict=True))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
