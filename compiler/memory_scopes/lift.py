"""Moves what a function computes from its weights alone into a separate function, which runs once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..passes.base import first
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

INPUTS = "num_input"
"""The attribute of a function that says how many of its parameters are inputs. Those behind are weights."""

SUFFIX = "_transform_params"
"""What TVM's LiftTransformParams puts behind the name of a function, for the one that makes its weights ready."""


def lift_packing(passes: list[Pass], fold: str) -> list[Pass]:
    """The passes with one more behind the removal of dead code that follows pass `fold`.

    There scopes are settled and operators fused, so that what is lifted is the packing of weights, each in its scope.
    """
    at = first(passes, fold)
    at += 1 + first(passes[at:], "DeadCodeElimination")
    return [*passes[:at], lift_weights(), *passes[at:]]


def lift_weights() -> Pass:
    """Module pass: LiftTransformParams of the functions that say which of their parameters are weights, and have some."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, function in mod.functions_items():
            attributes = (function.attrs or {}) if isinstance(function, tvm.relax.Function) else {}
            if INPUTS in attributes and int(attributes[INPUTS]) >= len(function.params):
                mod.update_func(var, function.without_attr(INPUTS))
        return tvm.relax.transform.LiftTransformParams()(mod)

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.LiftWeights")
