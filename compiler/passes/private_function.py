"""private-function: private Relax functions are inlined into their callers for textures.

AnnotateCustomMemoryScope takes every call for one of an operator and stops at a call of another function ("Check not null:
ptr"). A public function stays one, since others may call it. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import kind
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def inline_private_functions() -> Pass:
    """Relax pass: no private function is left, except for those that call themselves."""
    return import_tvm().relax.transform.InlinePrivateFunctions()


def calls(mod: Any) -> list[tuple[str, str]]:
    """(caller, callee) of the calls between Relax functions."""
    relax = import_tvm().relax
    found: list[tuple[str, str]] = []
    for var, func in mod.functions_items():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, lambda expr, caller=str(var.name_hint): _note(mod, caller, expr, found))
    return found


def _note(mod: Any, caller: str, expr: Any, found: list[tuple[str, str]]) -> None:
    if kind(expr) == "Call" and kind(expr.op) == "GlobalVar" and kind(mod[expr.op]) == "Function":
        found.append((caller, str(expr.op.name_hint)))


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run first."""
    return [inline_private_functions(), *passes] if "texture" in target.keys else passes


FIX = Fix(
    name="private-function",
    versions=ALL_VERSIONS,
    summary="private functions are inlined for textures, where TVM compiles no call of one",
    relax=add,
)
