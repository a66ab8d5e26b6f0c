"""Constant weights that a tuned schedule stages in a texture, as textures: its stage copies what is there, and is cancelled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..memory_scopes.define import Devices, with_scope
from ..memory_scopes.demand import Limits, bindings, op_name, operands, sizes
from ..memory_scopes.rules import texture_scope
from ..tvm_bridge.read import kind, memory_scope
from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, type_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

WEIGHT_SCOPE = "global.texture-weight"


def constant_weights(module: IRModule, target: Target) -> dict[str, frozenset[int]]:
    """PrimFunc -> its parameters that every call of the module gives as constants in buffers, which fit a texture of weights.

    Empty for a target without textures.
    """
    if "texture" not in target.keys:
        return {}
    limits = Limits.of(target)
    found: dict[str, frozenset[int]] = {}
    for name, call in _calls(module):
        fits = frozenset(number for number, operand in enumerate(operands(call)) if _fits(operand, limits))
        found[name] = found.get(name, fits) & fits
    return found


def place_in_textures(module: IRModule, target: Target, wanted: Mapping[str, Collection[int]]) -> IRModule:
    """The module with these operands, constants of every call, as textures. wanted: by PrimFunc, some of `constant_weights`."""
    if not any(wanted.values()):
        return module
    relax = import_tvm().relax
    devices = Devices(target)

    def rewrite(_builder: Any, call: Any) -> Any:
        moved = wanted.get(str(call.args[0].name_hint), ())
        if not moved:
            return call
        given = operands(call)
        for number in moved:
            given[number] = with_scope(given[number], devices.of(WEIGHT_SCOPE))
        return relax.Call(call.op, [call.args[0], relax.Tuple(given), *call.args[2:]], call.attrs, _results(call))

    placed = rewrite_calls("PlaceWeights", ("relax.call_tir",), rewrite)(module)
    known = list(dict(placed.global_infos).get("vdevice", ()))
    placed.update_global_info("vdevice", [*known, *devices.all])
    return placed


def _results(call: Any) -> Any:
    return getattr(call, "sinfo_args", None) or call.ty_args


def _calls(module: IRModule) -> Iterator[tuple[str, Any]]:
    """The calls of PrimFuncs, each with its callee's name."""
    for _, function in module.functions_items():
        if isinstance(function, import_tvm().relax.Function):
            for binding in bindings(function):
                value = getattr(binding, "value", None)
                if value is not None and kind(value) == "Call" and op_name(value) == "relax.call_tir":
                    yield str(value.args[0].name_hint), value


def _fits(operand: Any, limits: Limits) -> bool:
    if kind(operand) not in ("Constant", "GenericConst") or memory_scope(type_of(operand)) != "global":
        return False
    return texture_scope(sizes(operand) or (), limits.spatial, limits.depth) == WEIGHT_SCOPE
