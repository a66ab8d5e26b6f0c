"""Code generation: a partitioned Relax function as the JSON graph of TVM's runtime, registered as relax.ext.openclml.

A code generator gives TVM runtime modules. Where TVM was built with OpenCL ML they are made by its own
runtime.clml_runtime_create; elsewhere by runtime.CSourceModuleCreate, whose modules hold a text, the name of a function and
those of its constants: read back, the same three things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ...base.errors import UnsupportedError
from ...mlops.graph import Entry, Graph, Node
from ...records import dataclass
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm
from .describe import describe, static_shape, tensor_dtype

NAME = "relax.ext.openclml"
ENABLED = "relax.is_openclml_runtime_enabled"
CODEGEN = "openclml"

_registered: set[str] = set()  # of these names, those that `register` has given to TVM


def register() -> None:
    """Register the code generator, and that there is a runtime for what it writes, unless TVM has its own."""
    tvm = import_tvm()
    for name, function in ((ENABLED, lambda: True), (NAME, _compile)):
        if tvm.get_global_func(name, allow_missing=True) is None:
            tvm.register_global_func(name, function)
            _registered.add(name)


def is_registered() -> bool:
    """Whether TVM finds a code generator: its own, or the one here after `register`."""
    return import_tvm().get_global_func(NAME, allow_missing=True) is not None


def is_tvms_runtime_enabled() -> bool:
    """Whether TVM was built with OpenCL ML's runtime: its packages on PyPI are not.

    TVM 0.27's Python function of this name asks for a global function that nothing registers; both spellings are asked for.
    """
    for name in (ENABLED, "relax.op.is_openclml_runtime_enabled"):
        enabled = import_tvm().get_global_func(name, allow_missing=True)
        if enabled is not None and name not in _registered and enabled():
            return True
    return False


def _compile(functions: Sequence[Any], _options: Any, constants: Mapping[Any, Any]) -> list[Any]:
    tvm = import_tvm()
    names = {read.key(constant): str(name) for constant, name in constants.items()}
    create = tvm.get_global_func("runtime.clml_runtime_create", allow_missing=True)
    source = tvm.get_global_func("runtime.CSourceModuleCreate")
    modules = []
    for function in functions:
        graph = serialise(function, names)
        symbol, text = str(function.attrs["global_symbol"]), graph.to_json()
        own = create is not None
        modules.append(create(symbol, text, graph.constants) if own else source(text, "json", [symbol], graph.constants))
    return modules


def serialise(function: Any, constants: Mapping[int, str]) -> Graph:
    """The graph of a function made of calls of composites. constants: key of a constant's object -> its name."""
    return _Serialiser(constants).function(function)


def operators_of(function: Any, constants: Mapping[int, str]) -> tuple[Graph, list[tuple[int, tuple[Entry, ...], Any]]]:
    """The graph, and (node, entries of its parameters, composite function) of each operator."""
    serialiser = _Serialiser(constants)
    return serialiser.function(function), serialiser.operators


Entries = list[Entry]


@dataclass
class _Serialiser:
    constants: Mapping[int, str]
    nodes: list[Node] = field(default_factory=list)
    entries: dict[int, Entries] = field(default_factory=dict)  # by the key of a variable or constant
    composites: dict[int, Any] = field(default_factory=dict)
    operators: list[tuple[int, tuple[Entry, ...], Any]] = field(default_factory=list)

    def function(self, function: Any) -> Graph:
        for param in function.params:
            self.entries[read.key(param)] = self.add(
                Node("input", read.var_name(param), (static_shape(param),), (tensor_dtype(param),))
            )
        for binding in _bindings(function.body):
            if read.kind(binding.value) == "Function":
                self.composites[read.key(binding.var)] = binding.value
            else:
                self.entries[read.key(binding.var)] = self.visit(binding.value)
        return Graph(tuple(self.nodes), tuple(self.visit(function.body.body)))

    def add(self, node: Node) -> Entries:
        self.nodes.append(node)
        return [Entry(len(self.nodes) - 1)]

    def visit(self, expr: Any) -> Entries:
        kind = read.kind(expr)
        if kind in ("Var", "DataflowVar"):
            return self.entries[read.key(expr)]
        if kind == "Tuple":
            return [entry for item in expr.fields for entry in self.visit(item)]
        if kind == "TupleGetItem":
            return [self.visit(expr.tuple_value)[expr.index]]
        if kind == "Call" and read.key(expr.op) in self.composites:
            return self.composite(expr, self.composites[read.key(expr.op)])
        raise UnsupportedError(f"unsupported: {kind} in a subgraph of OpenCL ML: {' '.join(str(expr).split())[:120]}")

    def composite(self, call: Any, function: Any) -> Entries:
        given = {read.key(param): arg for param, arg in zip(function.params, call.args, strict=True)}
        inner = _bindings(function.body)
        calls = [binding.value for binding in inner if read.kind(binding.value) == "Call"]
        found = describe(str(function.attrs["Composite"]), calls)
        inputs: Entries = []
        for position, expr in enumerate(found.inputs):
            outer = given.get(read.key(expr))
            inputs += self.visit(outer) if outer is not None else self.constant(expr, found.shapes.get(position))
        params = tuple(self.visit(arg)[0] for arg in call.args)
        self.operators.append((len(self.nodes), params, function))
        return self.add(Node("kernel", found.name, (static_shape(call),), (tensor_dtype(call),), tuple(inputs), found.attrs))

    def constant(self, expr: Any, shape: tuple[int, ...] | None) -> Entries:
        key = read.key(expr)
        if key not in self.constants:
            raise UnsupportedError(
                f"unsupported: {read.kind(expr)} inside an OpenCL ML operator is neither argument nor constant"
            )
        if key not in self.entries:
            self.entries[key] = self.add(
                Node("const", self.constants[key], (shape or static_shape(expr),), (tensor_dtype(expr),))
            )
        return self.entries[key]


def _bindings(body: Any) -> list[Any]:
    return [binding for block in body.blocks for binding in block.bindings]
