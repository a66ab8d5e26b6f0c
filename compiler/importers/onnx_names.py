"""Which ONNX node each variable of an imported module comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import onnx

from ...golden.onnx_model import LargeArrays
from ..tvm_bridge.operator_names import bindings, with_names
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.tensors import tensor_of

if TYPE_CHECKING:
    from tvm import IRModule

Results = dict[str, Any]
"""Name of a value of the graph -> the expression that TVM's importer made for it."""


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes that a node gives, by name."""
    return {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}


def node_label(node: onnx.NodeProto) -> str:
    """A node's name, or that of its first result."""
    return node.name or f"giving {node.output[0]}"


@contextmanager
def watching_importer(arrays: LargeArrays) -> Iterator[Results]:
    """What TVM's importer makes of each value of the graphs that it imports inside the block. It takes large initialisers from
    `arrays`, as they are there."""
    from tvm.relax.frontend.onnx import onnx_frontend

    known = onnx_frontend.ONNXGraphImporter
    results: Results = {}

    class Recording(known):  # type: ignore[misc, valid-type]
        def _construct_nodes(self, graph: Any) -> Any:
            made = super()._construct_nodes(graph)
            results.update(self._nodes)
            return made

        def _parse_array(self, tensor_proto: Any) -> Any:
            array = arrays.find(tensor_proto)
            return super()._parse_array(tensor_proto) if array is None else tensor_of(array)

    onnx_frontend.ONNXGraphImporter = Recording
    try:
        yield results
    finally:
        onnx_frontend.ONNXGraphImporter = known


def with_node_names(module: IRModule, graph: onnx.GraphProto, results: Results, describe: Callable[[Any], str]) -> IRModule:
    """`module` with variables named after the nodes of `graph`. describe: the name of a node.

    TVM's importer hands expressions from node to node, which become variables at the end: an expression and a variable are one
    where they compute the same, operator by operator.
    """
    numbers = _Numbers()
    held = {key(b.var): numbers.bind(b) for b in bindings(module["main"].body)}
    names: dict[int, str] = {}
    for node in graph.node:
        for output in node.output:
            if output in results:
                _name(numbers, numbers.of(results[output]), describe(node), names)
    return with_names(module, {var: names[number] for var, number in held.items() if number in names})


def _name(numbers: _Numbers, number: int, name: str, names: dict[int, str]) -> None:
    """Name a value, and those that it is made of and that no earlier node has made."""
    todo = [number]
    while todo:
        value = todo.pop()
        if value not in names and value in numbers.operands:
            names[value] = name
            todo += numbers.operands[value]


class _Numbers:
    """Numbers of values: equal for what computes the same from the same. operands: of the values that calls and tuples make."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.operands: dict[int, tuple[int, ...]] = {}
        self.known: dict[int, int] = {}
        self.kept: list[Any] = []

    def bind(self, binding: Any) -> int:
        number = self.of(getattr(binding, "value", binding.var))
        self._know(binding.var, number)
        return number

    def of(self, expr: Any) -> int:
        if key(expr) in self.known:
            return self.known[key(expr)]
        what = kind(expr)
        if what == "Call":
            operands = tuple(self.of(arg) for arg in expr.args)
            attrs = 0 if expr.attrs is None else key(expr.attrs)
            number = self._number(("call", key(expr.op), attrs, operands), operands)
        elif what == "Tuple":
            operands = tuple(self.of(item) for item in expr.fields)
            number = self._number(("tuple", operands), operands)
        elif what == "TupleGetItem":
            operands = (self.of(expr.tuple_value),)
            number = self._number(("item", int(expr.index), operands), operands)
        elif what in ("ShapeExpr", "PrimValue", "StringImm", "DataTypeImm"):
            number = self._number((what, str(expr)), None)
        else:
            number = self._number(("leaf", key(expr)), None)
        self._know(expr, number)
        return number

    def _know(self, expr: Any, number: int) -> None:
        self.known[key(expr)] = number
        self.kept.append(expr)  # an address is only this expression's while it lives

    def _number(self, value: Any, operands: tuple[int, ...] | None) -> int:
        number = self.numbers.setdefault(value, len(self.numbers))
        if operands is not None:
            self.operands.setdefault(number, operands)
        return number
