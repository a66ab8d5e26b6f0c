"""function-names: a PrimFunc whose name is none of OpenCL C gets one that is.

TVM names a function after what made it: of a Python lambda given to `call_te`, or emitted by an importer, comes `<lambda>`, and
the kernel `<lambda>_kernel`, which no driver compiles. 0.25 to 0.27.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, type_arguments
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

NAMED_AFTER = "adreno_sim.named_after"
"""Attribute of a copy: a builder takes a function that is equal to one of the module for that one, under its old name."""


def rename_functions() -> Pass:
    """Relax pass: calls of a function with another name than an identifier call a copy of it that has one."""

    def rewrite(builder: Any, call: Any) -> Any:
        var = call.args[0]
        name = str(var.name_hint)
        if IDENTIFIER.fullmatch(name):
            return call
        copy = builder.add_func(builder.get()[var].with_attr(NAMED_AFTER, name), identifier(name))
        return import_tvm().relax.Call(call.op, [copy, *call.args[1:]], call.attrs, **type_arguments(call))

    return rewrite_calls("RenameFunctions", ("relax.call_tir",), rewrite)


def identifier(name: str) -> str:
    """The name without what no identifier has."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "function"
    return plain if IDENTIFIER.fullmatch(plain) else f"function_{plain}"


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run first."""
    return [rename_functions(), *passes]


FIX = Fix(
    name="function-names",
    versions=ALL_VERSIONS,
    summary="a function whose name is not an identifier, as <lambda>, gets a kernel that compiles",
    relax=add,
)
