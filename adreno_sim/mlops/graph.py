"""A subgraph in the JSON format that TVM's JSON runtimes load.

The object has `nodes` (op "input", "const" or "kernel", name, inputs, attrs), `arg_nodes` (those without inputs), `heads`
(the results) and `node_row_ptr` (number of the first entry of each node). An entry is [node, index, version]. The source is
TVM 0.27's json_node.h and json_runtime.h: attributes are plain JSON values, `shape` and `dtype` one item per output.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from ..base.errors import AdrenoSimError
from ..records import dataclass

Op = Literal["input", "const", "kernel"]

COUNTS = ("num_inputs", "num_outputs")
"""Attributes that follow from the node itself."""


class GraphError(AdrenoSimError):
    """JSON that is not such a graph."""


@dataclass(frozen=True)
class Entry:
    """Output `index` of node `node`."""

    node: int
    index: int = 0


@dataclass(frozen=True)
class Node:
    """One node. shapes, dtypes: of its outputs; attrs: the others, as they are in the JSON."""

    op: Op
    name: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    inputs: tuple[Entry, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.shapes[0]

    @property
    def dtype(self) -> str:
        return self.dtypes[0]

    @property
    def size(self) -> int:
        """Elements of the first output."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, and the entries that are its results."""

    nodes: tuple[Node, ...]
    heads: tuple[Entry, ...]

    def of(self, op: Op) -> list[tuple[int, Node]]:
        """(number, node) of the nodes of one kind, in order."""
        return [(number, node) for number, node in enumerate(self.nodes) if node.op == op]

    @property
    def constants(self) -> list[str]:
        """Names of the constants, in the order in which TVM's runtime expects them."""
        return [node.name for _, node in self.of("const")]

    def to_json(self) -> str:
        """The text that TVM's runtime loads."""
        starts = [0]
        for node in self.nodes:
            starts.append(starts[-1] + len(node.shapes))
        return json.dumps(
            {
                "nodes": [_node_json(node) for node in self.nodes],
                "arg_nodes": [number for number, node in enumerate(self.nodes) if not node.inputs],
                "heads": [[head.node, head.index, 0] for head in self.heads],
                "node_row_ptr": starts,
            }
        )


def _node_json(node: Node) -> dict[str, Any]:
    attrs = dict(node.attrs)
    if node.inputs:
        attrs |= {"num_inputs": len(node.inputs), "num_outputs": len(node.shapes)}
    attrs |= {"shape": [list(shape) for shape in node.shapes], "dtype": list(node.dtypes)}
    data: dict[str, Any] = {"op": node.op, "name": node.name}
    if node.inputs:
        data["inputs"] = [[entry.node, entry.index, 0] for entry in node.inputs]
    return {**data, "attrs": attrs}


def parse(text: str) -> Graph:
    """The graph in `text`. GraphError names what TVM's runtime would not take: keys, entries, order, counts."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"graph: not JSON: {error}") from None
    _expect(isinstance(data, dict), "graph: expected an object")
    unknown = sorted(set(data) - {"nodes", "arg_nodes", "heads", "node_row_ptr", "symbol"})
    _expect(not unknown, f"graph: unknown key {unknown[:1]}")
    _expect(isinstance(data.get("nodes"), list) and bool(data["nodes"]), "graph: expected a list of nodes")
    nodes = tuple(_node(number, item) for number, item in enumerate(data["nodes"]))
    heads = tuple(_entry("heads", item) for item in _list(data.get("heads"), "heads"))
    _expect(bool(heads), "heads: expected at least one entry")
    for number, node in enumerate(nodes):
        for entry in node.inputs:
            _expect(entry.node < number, f"node {number} ({node.name}): its input {entry.node} is not a node before it")
            _expect(
                entry.index < len(nodes[entry.node].shapes), f"node {number} ({node.name}): node {entry.node} has no such output"
            )
    for entry in heads:
        _expect(entry.node < len(nodes) and entry.index < len(nodes[entry.node].shapes), f"heads: there is no entry {entry}")
    _check_counts(data, nodes)
    return Graph(nodes, heads)


def _check_counts(data: Mapping[str, Any], nodes: Sequence[Node]) -> None:
    leaves = [number for number, node in enumerate(nodes) if not node.inputs]
    _expect(data.get("arg_nodes") == leaves, f"arg_nodes: expected {leaves}, the nodes without inputs")
    starts = [0]
    for node in nodes:
        starts.append(starts[-1] + len(node.shapes))
    _expect(data.get("node_row_ptr") == starts, f"node_row_ptr: expected {starts}")
    names = [node.name for node in nodes if node.op != "kernel"]
    _expect(len(set(names)) == len(names), "two inputs or constants have one name")


def _node(number: int, item: Any) -> Node:
    where = f"node {number}"
    _expect(isinstance(item, dict), f"{where}: expected an object")
    unknown = sorted(set(item) - {"op", "name", "inputs", "attrs", "attr"})
    _expect(not unknown, f"{where}: unknown key {unknown[:1]}")
    op, name = item.get("op"), item.get("name")
    _expect(op in ("input", "const", "kernel"), f"{where}: op {op!r}: expected input, const or kernel")
    _expect(isinstance(name, str) and bool(name), f"{where}: expected a name")
    attrs = item.get("attrs", item.get("attr", {}))
    _expect(isinstance(attrs, dict), f"{where}: attrs: expected an object")
    shapes = tuple(_shape(where, shape) for shape in _list(attrs.get("shape"), f"{where}: shape"))
    dtypes = tuple(str(dtype) for dtype in _list(attrs.get("dtype"), f"{where}: dtype"))
    _expect(len(shapes) == len(dtypes) > 0, f"{where}: as many shapes as dtypes expected, and one at least")
    inputs = tuple(_entry(where, entry) for entry in _list(item.get("inputs", []), f"{where}: inputs"))
    _expect((op == "kernel") == bool(inputs), f"{where}: {op} {'without' if op == 'kernel' else 'with'} inputs")
    others = {key: value for key, value in attrs.items() if key not in (*COUNTS, "shape", "dtype")}
    return Node(op, name, shapes, dtypes, inputs, others)


def _entry(where: str, item: Any) -> Entry:
    good = isinstance(item, list) and len(item) in (2, 3) and all(isinstance(n, int) and n >= 0 for n in item)
    _expect(good, f"{where}: {item!r}: expected an entry [node, index, version]")
    return Entry(item[0], item[1])


def _shape(where: str, item: Any) -> tuple[int, ...]:
    good = isinstance(item, list) and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in item)
    _expect(good, f"{where}: shape {item!r}: expected a list of sizes")
    return tuple(item)


def _list(item: Any, where: str) -> list[Any]:
    _expect(isinstance(item, list), f"{where}: expected a list")
    return list(item)


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise GraphError(message)
