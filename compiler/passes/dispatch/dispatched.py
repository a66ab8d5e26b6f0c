"""Functions that TVM's dispatch adds to a module, made fit for the passes of the Adreno pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....golden.truth.operators.operator import LABEL, Operator, read_call
from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..kernels.own_threads import SCHEDULED, has_threads

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def dispatch(added_by: Pass, name: str) -> Pass:
    """Relax pass: a dispatch of TVM's, and the functions that it adds made fit for the passes that follow.

    Functions of launches alone are marked as scheduled: TVM's schedule rules ask for a root block. Each function is labelled with
    its operator, by which its kernels are judged: what is written for threads says it to nobody else.
    """
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        before = {str(var.name_hint): function for var, function in mod.functions_items()}
        mod = added_by(mod)
        operators = _operators_of(before, mod)
        for var, func in mod.functions_items():
            if isinstance(func, tvm.tirx.PrimFunc) and str(var.name_hint) not in before:
                func = func.with_attr(SCHEDULED, True) if has_threads(func) else func
                operator = operators.get(str(var.name_hint))
                mod[var] = func if operator is None else func.with_attr(LABEL, operator.text)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name=f"adreno_sim.{name}")


def _operators_of(before: Mapping[str, Any], mod: Any) -> dict[str, Operator]:
    """The operator of each function that a dispatch added; not of one that several share.

    A dispatch replaces each operator that it takes by one call of a function that it adds, and keeps their order.
    """
    relax = import_tvm().relax
    found: dict[str, set[Operator]] = {}
    for caller, function in before.items():
        if not isinstance(function, relax.Function):
            continue
        calls = _calls(mod[caller])
        called = [str(call.args[0].name_hint) for call in calls if read.op_name(call) == "relax.call_tir"]
        added = [name for name in called if name not in before]
        operators = _operators_in(_calls(function))
        for left in _operators_in(calls):
            operators.remove(left)
        if len(added) == len(operators):
            for name, operator in zip(added, operators, strict=True):
                found.setdefault(name, set()).add(operator)
    return {name: operators.pop() for name, operators in found.items() if len(operators) == 1}


def _operators_in(calls: list[Any]) -> list[Operator]:
    return [known[0] for known in map(read_call, calls) if known is not None]


def _calls(function: Any) -> list[Any]:
    """The calls of a Relax function in order."""
    calls: list[Any] = []
    import_tvm().relax.analysis.post_order_visit(function, lambda node: calls.append(node) if read.kind(node) == "Call" else None)
    return calls
