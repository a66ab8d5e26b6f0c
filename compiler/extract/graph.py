"""Graphs for OpenCL ML, from the external modules that code generation left in the lowered module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import UnsupportedError
from ...mlops.graph import Graph, Node, parse
from ..artifact.host_function import BufferParam, BufferRef, Const, HostFunction, RunGraph
from ..artifact.model import GraphCode
from ..tvm_bridge import read
from ..tvm_bridge.tensors import array_of
from .constants import ConstantPool

if TYPE_CHECKING:
    from ..lower.pipeline import Lowered


def graph_functions(lowered: Lowered, pool: ConstantPool) -> tuple[dict[str, GraphCode], dict[str, HostFunction]]:
    """The graphs by name, and for each the host function that runs it: its inputs, then its outputs, as TVM calls it."""
    attrs = lowered.relax.attrs
    if not lowered.subgraphs or attrs is None or "external_mods" not in attrs:
        return {}, {}
    constants = attrs.get("const_name_to_constant", {})
    arrays = {str(name): array for name, array in constants.items()}
    graphs: dict[str, GraphCode] = {}
    functions: dict[str, HostFunction] = {}
    for module in attrs["external_mods"]:
        name, text = str(module["get_symbol"]()), str(module.inspect_source())
        graph = parse(text)
        missing = [constant for constant in graph.constants if constant not in arrays]
        if missing:
            raise UnsupportedError(f"unsupported: graph {name}: TVM kept no constant {missing[0]!r}")
        keys = {constant: pool.add(_array(arrays[constant])) for constant in graph.constants}
        graphs[name] = GraphCode(name, text, keys)
        functions[name] = _function(name, graph)
    ordered = sorted(graphs, key=lambda name: (len(name), name))  # clml_2 before clml_10
    return {name: graphs[name] for name in ordered}, functions


def _array(tensor: Any) -> Any:
    return array_of(tensor if hasattr(tensor, "numpy") else tensor.data)


def _function(name: str, graph: Graph) -> HostFunction:
    inputs = [_param(f"input{i}", node, "read") for i, (_, node) in enumerate(graph.of("input"))]
    outputs = [_param(f"output{i}", graph.nodes[head.node], "write") for i, head in enumerate(graph.heads)]
    run = RunGraph(name, tuple(BufferRef(param.name) for param in inputs), tuple(BufferRef(param.name) for param in outputs))
    return HostFunction(name, (*inputs, *outputs), (run,), golden=name)


def _param(name: str, node: Node, access: Any) -> BufferParam:
    dims = tuple(Const(size, "int64") for size in node.shape)
    return BufferParam(name, dims, read.scalar_dtype(node.dtype, name)[0], "global", access)
