"""The tuning tasks of a model: its functions around one convolution or matrix product, as MetaSchedule would see them.

A task is a PrimFunc before the texture scopes of its call sites are written into it: its arguments are flat buffers. Which of
them are textures where the model calls it is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ...records import dataclass
from ..lower.pipeline import reason, relax_passes
from ..memory_scopes.scoping import TVMS, Scoping
from ..passes.base import SCHEDULE, Fix, first
from ..tvm_bridge.pass_pipelines import with_own_constants
from ..tvm_bridge.read import BufferInfo, buffer_param
from ..tvm_bridge.versions import import_tvm
from .anchor import find_anchor
from .constant_weights import constant_weights

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass
    from tvm.target import Target

SCOPING = "SpecializePrimFuncBasedOnCallSite"

KEPT = ("tirx.noalias", "s_tir")
"""Attributes that belong to the function itself, not to its place in the model."""


@dataclass(frozen=True)
class Task:
    """functions: those of the model with this body. module: it alone, as `main`, flat. scoped: as the model calls the first of
    them. textures: its parameters that every call gives as textures. weights: those that are constants in buffers, and become
    textures where its schedule stages them in one. anchor: what it sums."""

    name: str
    functions: tuple[str, ...]
    module: IRModule
    scoped: IRModule
    textures: frozenset[int]
    weights: frozenset[int]
    anchor: str

    @property
    def params(self) -> list[BufferInfo]:
        """The buffers of the flat function; the last one is the result."""
        return params_of(self.module["main"])


def params_of(function: Any) -> list[BufferInfo]:
    """The buffer of every parameter. UnsupportedError for a function with others."""
    infos = [buffer_param(function, param) for param in function.params]
    if any(info is None for info in infos):
        raise UnsupportedError("unsupported: tuning a function with parameters that are not tensors")
    return [info for info in infos if info is not None]


def isolate(function: Any) -> IRModule:
    """A module with the function as `main`, without what ties it to its model: equal bodies give equal modules."""
    for name in dict(function.attrs or {}):
        if str(name) not in KEPT:
            function = function.without_attr(name)
    return import_tvm().IRModule({"main": function.with_attr("global_symbol", "main")})


def find_tasks(module: IRModule, target: Target, fixes: Sequence[Fix], scoping: Scoping = TVMS) -> list[Task]:
    """The tasks of a Relax module for an Adreno target, in order of first appearance. UnsupportedError if TVM fails."""
    try:
        flat, scoped = _before_scheduling(module, target, fixes, scoping)
    except AdrenoSimError:
        raise
    except Exception as error:  # TVM raises whatever its layers raise
        raise UnsupportedError(f"unsupported: TVM's pipeline fails on this module: {reason(error)}") from error
    tvm = import_tvm()
    from tvm_ffi import structural_equal

    tasks: list[Task] = []
    constants = constant_weights(flat, target)
    for name, function in prim_funcs(flat).items():
        one = isolate(function)
        if name not in scoped or find_anchor(tvm.s_tir.Schedule(one)) is None:
            continue
        called = isolate(scoped[name])
        textures, weights = texture_params(called["main"]), constants.get(name, frozenset())
        for number, known in enumerate(tasks):
            if structural_equal(known.module, one):
                both = replace(known, functions=(*known.functions, name), textures=known.textures & textures)
                tasks[number] = replace(both, weights=known.weights & weights)
                break
        else:
            anchor = find_anchor(tvm.s_tir.Schedule(one))
            tasks.append(Task(name, (name,), one, called, textures, weights, anchor.name if anchor else ""))
    return tasks


def texture_params(function: Any) -> frozenset[int]:
    """Positions of the parameters that are textures."""
    infos = (buffer_param(function, param) for param in function.params)
    return frozenset(number for number, info in enumerate(infos) if info is not None and info.scope.startswith("global.texture"))


def _before_scheduling(
    module: IRModule, target: Target, fixes: Sequence[Fix], scoping: Scoping
) -> tuple[IRModule, dict[str, Any]]:
    """The module before its PrimFuncs know their scopes, and these by name when they do."""
    tvm = import_tvm()
    with target:
        passes = relax_passes(target, fixes, scoping=scoping)
        scope, schedule = cuts(passes)
        flat = tvm.transform.Sequential(passes[:scope])(with_own_constants(module))
        scoped = tvm.transform.Sequential(passes[scope:schedule])(flat) if scope < schedule else flat
    return flat, prim_funcs(scoped)


def cuts(passes: list[Pass]) -> tuple[int, int]:
    """Where the passes begin to write scopes into functions (for targets that have scopes), and where they begin to schedule."""
    schedule = first(passes, SCHEDULE)
    names = [item.info.name for item in passes[:schedule]]
    return names.index(SCOPING) if SCOPING in names else schedule, schedule


def prim_funcs(module: IRModule) -> dict[str, Any]:
    """The PrimFuncs of a module by name, in its order."""
    tvm = import_tvm()
    return {str(var.name_hint): func for var, func in module.functions_items() if isinstance(func, tvm.tirx.PrimFunc)}
