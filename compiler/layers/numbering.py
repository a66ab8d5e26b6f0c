"""Numbers the calls of a function that are layers, and resolves a user's list of layer numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...base.errors import AdrenoSimError
from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import kind
from ..tvm_bridge.versions import import_tvm, var_name

CONV2D = "relax.nn.conv2d"
CONVOLUTIONS = (CONV2D,)

LAYERS = (
    "relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d", "relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose",
    "relax.matmul",
)  # fmt: skip
"""Operators that can give another element type than they take: all that `recast` takes for layers unless it is given others."""


def full_names(ops: str | Iterable[str] | None) -> tuple[str, ...]:
    """Operator names as TVM registers them: "nn.conv2d" and "relax.nn.conv2d" both mean the latter; None means LAYERS."""
    if ops is None:
        return LAYERS
    given = (ops,) if isinstance(ops, str) else tuple(ops)
    names = tuple(name if name.startswith("relax.") else f"relax.{name}" for name in given)
    known = set(import_tvm().ir.Op.list_op_names())
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise AdrenoSimError(f"operators {', '.join(unknown) or 'none'}: expected names of Relax operators, as nn.conv2d")
    return names


def function_of(mod: Any, function: str) -> Any:
    """The Relax function of that name in a module; a Relax function is itself. AdrenoSimError if there is none."""
    relax = import_tvm().relax
    if isinstance(mod, relax.Function):
        return mod
    if not hasattr(mod, "functions_items"):
        raise AdrenoSimError(f"expected an IRModule or a Relax function, got {type(mod).__name__}")
    for var, found in mod.functions_items():
        if str(var.name_hint) == function and isinstance(found, relax.Function):
            return found
    raise AdrenoSimError(f"the module has no Relax function {function!r}")


def layers(function: Any, ops: Sequence[str]) -> list[Any]:
    """The bindings of a function whose values call one of `ops` (full names), in execution order."""
    found = []
    for binding in bindings(function):
        value = getattr(binding, "value", None)
        if value is not None and kind(value) == "Call" and op_name(value) in ops:
            found.append(binding)
    return found


def count_layers(mod: Any, ops: str | Iterable[str] | None = CONVOLUTIONS, function: str = "main") -> int:
    """How many calls of the named operators (None: of LAYERS) a Relax function makes, or that of this name in a module."""
    return len(layers(function_of(mod, function), full_names(ops)))


def layer_names(mod: Any, ops: str | Iterable[str] | None = CONVOLUTIONS, function: str = "main") -> list[str]:
    """The variables that the layers' results are bound to, by layer number."""
    return [var_name(binding.var) for binding in layers(function_of(mod, function), full_names(ops))]


def skipped_layers(count: int, skip_layers: Iterable[int]) -> set[int]:
    """Layer numbers as numbers from 0. AdrenoSimError for a number that no layer has."""
    found = set()
    for number in skip_layers:
        if not -count <= number < count:
            raise AdrenoSimError(f"skip_layers: {number}, expected numbers from {-count} to {count - 1} ({count} layers)")
        found.add(number % count)
    return found
