"""Collects, for every tensor, the scope that each of its consumers asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ...records import dataclass
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.versions import shape_values, type_of, var_name
from .rules import GLOBAL, OPAQUE, reads_textures, texture_scope, weights_in_texture


@dataclass(frozen=True)
class Limits:
    """What may be a texture: the largest extents of one that the target names; weights: one of WEIGHTS."""

    spatial: int
    depth: int
    weights: str = "buffer"

    @staticmethod
    def of(target: Any, weights: str = "buffer") -> Limits:
        attrs = target.attrs
        return Limits(int(attrs.get("texture_spatial_limit", 16384)), int(attrs.get("texture_depth_limit", 2048)), weights)


@dataclass(frozen=True)
class Ask:
    """One consumer's wish: the call (by key and by the name of its result), what it calls, the operand, the scope."""

    call: int
    result: str
    callee: str
    operand: int
    scope: str


@dataclass
class Demand:
    """Wishes of one function. by_call: scopes of each call's tensor operands; by_var: what is asked of each variable."""

    by_call: dict[int, list[str]] = field(default_factory=dict)
    by_var: dict[int, list[Ask]] = field(default_factory=dict)


def bindings(function: Any) -> Iterator[Any]:
    """The variable bindings of a Relax function in order, those of branches included."""
    yield from _bindings(function.body)


def _bindings(expr: Any) -> Iterator[Any]:
    if kind(expr) != "SeqExpr":
        return
    for block in expr.blocks:
        for binding in block.bindings:
            yield binding
            value = getattr(binding, "value", None)
            if value is not None and kind(value) == "If":
                yield from _bindings(value.true_branch)
                yield from _bindings(value.false_branch)


def operands(call: Any) -> list[Any]:
    """What a call reads: the tuple of a call_tir, the arguments of any other."""
    if op_name(call) == "relax.call_tir":
        return list(call.args[1].fields)
    return list(call.args)


def op_name(call: Any) -> str:
    return str(call.op.name) if kind(call.op) == "Op" else ""


def callee(call: Any) -> str:
    """What a call runs, for people: the PrimFunc of a call_tir, else the operator."""
    if op_name(call) == "relax.call_tir":
        return str(call.args[0].name_hint)
    return op_name(call).removeprefix("relax.") or str(call.op)


def is_tensor(expr: Any) -> bool:
    return kind(type_of(expr)) in ("TensorType", "TensorStructInfo")


def sizes(expr: Any) -> list[int | None] | None:
    """The shape of a tensor expression, None per dimension that is not constant; None if the rank is unknown."""
    values = shape_values(type_of(expr))
    return None if values is None else [int(v) if kind(v) == "IntImm" else None for v in values]


def collect(module: Any, function: Any, limits: Limits) -> Demand:
    """What the calls of `function` ask for. Wishes for an element of a tuple go on to the variable it was made of."""
    demand = Demand()
    elements: list[tuple[int, int, int]] = []
    tuples: dict[int, list[Any]] = {}
    for binding in bindings(function):
        value: Any = getattr(binding, "value", None)
        name = kind(value) if value is not None else ""
        if name == "Call":
            _ask(demand, module, binding, limits)
        elif name == "TupleGetItem":
            elements.append((key(binding.var), key(value.tuple_value), int(value.index)))
        elif name == "Tuple":
            tuples[key(binding.var)] = list(value.fields)
    for element, whole, index in elements:
        if element in demand.by_var and whole in tuples:
            demand.by_var.setdefault(key(tuples[whole][index]), []).extend(demand.by_var[element])
    return demand


def _ask(demand: Demand, module: Any, binding: Any, limits: Limits) -> None:
    call = binding.value
    textures = reads_textures(*_description(module, call), _wants_weights(call, limits.weights))
    scopes: list[str] = []
    for number, operand in enumerate(operands(call)):
        if not is_tensor(operand):
            continue
        wanted = textures[number] if number < len(textures) else textures[0]
        shape = sizes(operand)
        scope = texture_scope(shape, limits.spatial, limits.depth) if wanted and shape is not None else GLOBAL
        scopes.append(scope)
        if kind(operand) in ("Var", "DataflowVar"):
            ask = Ask(key(call), var_name(binding.var), callee(call), number, scope)
            demand.by_var.setdefault(key(operand), []).append(ask)
    demand.by_call[key(call)] = scopes


def _wants_weights(call: Any, where: str) -> bool:
    """Whether the second operand of a call, if it is a convolution's, is wanted as a texture."""
    given = operands(call)
    if where == "buffer" or len(given) < 2 or not is_tensor(given[1]):
        return False
    constant = kind(given[1]) not in ("Var", "DataflowVar")
    return weights_in_texture(where, sizes(given[1]) or (), str(type_of(given[1]).dtype), constant)


def _description(module: Any, call: Any) -> tuple[list[Any], int]:
    """Operator attributes and pattern: of the PrimFunc for a call_tir, else the call's own and opaque."""
    if op_name(call) != "relax.call_tir":
        return ([call.attrs] if call.attrs is not None else []), OPAQUE
    attrs = module[call.args[0]].attrs
    found = attrs["op_attrs"] if attrs and "op_attrs" in attrs else []
    several = list(found) if kind(found) in ("Array", "list", "List") else [found]
    return several, int(attrs["op_pattern"]) if attrs and "op_pattern" in attrs else OPAQUE
