"""shared-function: a PrimFunc called with tensors in different scopes becomes one function for each.

SpecializePrimFuncBasedOnCallSite writes the scopes of a call into the function it calls; where two calls share a function,
the last one wins, and the others hand a texture to a kernel that reads a buffer, or the reverse. Two concatenations of one
shape are enough, one read by convolutions, the other by a pooling. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import memory_scope
from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, type_arguments, type_of
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

SPECIALIZE = "SpecializePrimFuncBasedOnCallSite"

SCOPES = "adreno_sim.scopes"
"""Attribute of a copy, so that calls with the same scopes find the same copy and others another one."""


def split_shared_functions() -> Pass:
    """Relax pass: copies a PrimFunc for calls whose operands or results have other scopes than those of its first call."""

    def transform(mod: Any, _ctx: Any) -> Any:
        first: dict[str, list[str]] = {}

        def rewrite(builder: Any, call: Any) -> Any:
            var, scopes = call.args[0], _scopes(call)
            name = str(var.name_hint)
            if first.setdefault(name, scopes) == scopes:
                return call
            copy = builder.add_func(builder.get()[var].with_attr(SCOPES, ",".join(scopes)), name)
            return import_tvm().relax.Call(call.op, [copy, *call.args[1:]], call.attrs, **type_arguments(call))

        return rewrite_calls("SplitSharedFunctions", ("relax.call_tir",), rewrite)(mod)

    return import_tvm().transform.module_pass(transform, opt_level=0, name="adreno_sim.SplitSharedFunctions")


def _scopes(call: Any) -> list[str]:
    """Scopes of a call's operands, then of its results."""
    (result,) = next(iter(type_arguments(call).values()))
    results = getattr(result, "fields", None)
    return [memory_scope(kind) for kind in (*map(type_of, call.args[1].fields), *(results if results is not None else [result]))]


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run just before the scopes are written into the functions."""
    return [step for item in passes for step in ((split_shared_functions(), item) if item.info.name == SPECIALIZE else (item,))]


FIX = Fix(
    name="shared-function",
    versions=ALL_VERSIONS,
    summary="a function called with tensors in different scopes is compiled once for each",
    relax=add,
)
