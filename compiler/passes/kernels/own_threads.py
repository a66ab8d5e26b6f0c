"""own-threads: functions that TVM's operators write with their threads are left unchanged.

The scatters of TVM's operator library for GPUs are kernels already, and have no block named root: TVM's schedule rules look for
one and fail ("Cannot find a block with the name: root"). 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....golden.truth.operators.operator import LABEL, read_call
from ...tvm_bridge.read import kind, op_name, walk
from ...tvm_bridge.rewrite_calls import rewrite_calls
from ...tvm_bridge.versions import import_tvm
from ..base import ALL_VERSIONS, LEGALIZE, SCHEDULE, Fix, before_first

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


SCHEDULED = "tirx.is_scheduled"
"""The attribute by which TVM's schedule rules leave a function alone."""

SCATTERS = ("relax.scatter_elements", "relax.scatter_nd")
"""Operators that TVM's library has with threads."""


def mark_scheduled() -> Pass:
    """Module pass before scheduling: such functions are known as scheduled."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, func in mod.functions_items():
            if isinstance(func, tvm.tirx.PrimFunc) and has_threads(func):
                mod[var] = func.with_attr(SCHEDULED, True)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.MarkOwnThreads")


def has_threads(func: Any) -> bool:
    """Whether a function has threads and no root block, under which rules could give it some."""
    if str(getattr(getattr(func.body, "block", None), "name_hint", "")) == "root":
        return False
    return any(kind(node) == "AttrStmt" and str(node.attr_key) == "thread_extent" for node in walk(func.body))


def label_scatters() -> Pass:
    """Relax pass before TVM legalises operators: scatters are legalised, and their functions say which operator they compute.

    The text of a function that is written for threads says it to no reference.
    """
    return rewrite_calls("LabelScatters", SCATTERS, _legalise_labelled)


def _legalise_labelled(builder: Any, call: Any) -> Any:
    known = read_call(call)
    made = call.op.get_attr("FLegalize")(builder, call)
    if known is not None and op_name(made) == "relax.call_tir":
        target = made.args[0]
        builder.update_func(target, builder.get()[target].with_attr(LABEL, known[0].text))
    return made


def add_mark(passes: list[Pass], _target: Target) -> list[Pass]:
    """Label what comes with threads, and run the mark before the first of TVM's schedule rules."""
    return before_first(before_first(passes, LEGALIZE, label_scatters()), SCHEDULE, mark_scheduled())


FIX = Fix(
    name="own-threads",
    versions=ALL_VERSIONS,
    summary="functions that come with their threads, as scatters, are not scheduled again, and compile",
    relax=add_mark,
)
