"""stacked-sum: a sum, mean, maximum or minimum over an axis that `stack` has just made is written in operators of two operands.

So TVM's ONNX importer writes the operators Sum, Mean, Max and Min, of two operands as of more. The new axis stops ConvertLayout
where the module has a convolution ("can't find S in source layout ABCDE"). 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix, before_layout

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


PAIRWISE = {"relax.sum": "add", "relax.mean": "add", "relax.max": "maximum", "relax.min": "minimum"}
"""Reduction -> the operator that joins two operands of it; a mean is their sum, divided."""


def add_operands() -> Pass:
    """Relax pass: `sum(stack((a, b, ...), axis), axis)` becomes a + b + ..., in this order; the other reductions in the
    same way."""
    tvm = import_tvm()
    relax = tvm.relax
    sums = rewrite_calls("AddOperands", tuple(PAIRWISE), _rewrite)
    clean = [relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential([sums, *clean], name="adreno_sim.AddOperands")


def _rewrite(builder: Any, call: Any) -> Any:
    stack = _call_of(builder, call.args[0], "relax.stack")
    rank = len(shape_values(type_of(call)) or ()) + 1
    if stack is None or call.attrs.keepdims or call.attrs.axis is None:
        return call
    stacked = 0 if stack.attrs.axis is None else int(stack.attrs.axis)
    if [int(axis) % rank for axis in call.attrs.axis] != [stacked % rank]:
        return call
    terms = _lookup(builder, stack.args[0])
    if type(terms).__name__ != "Tuple":
        return call
    total, *others = (_strip_broadcast(builder, term) for term in terms.fields)
    relax = import_tvm().relax
    for term in others:
        total = builder.emit(getattr(relax.op, PAIRWISE[call.op.name])(total, term))
    if call.op.name == "relax.mean":
        total = builder.emit(relax.op.divide(total, relax.const(len(terms.fields), str(type_of(call).dtype))))
    return total


def _strip_broadcast(builder: Any, term: Any) -> Any:
    """The operand of a broadcast_to its own shape; any other `term` unchanged."""
    broadcast = _call_of(builder, term, "relax.broadcast_to")
    if broadcast is None or not _same_shape(broadcast.args[0], term):
        return term
    return broadcast.args[0]


def _same_shape(one: Any, other: Any) -> bool:
    shapes = [shape_values(type_of(value)) for value in (one, other)]
    return None not in shapes and list(map(str, shapes[0] or ())) == list(map(str, shapes[1] or ()))


def _call_of(builder: Any, value: Any, operator: str) -> Any:
    """The call of this operator that gives `value`; None if it is none."""
    call = _lookup(builder, value)
    return call if getattr(getattr(call, "op", None), "name", "") == operator else None


def _lookup(builder: Any, value: Any) -> Any:
    """The expression bound to a variable; `value` itself for a parameter and for any other expression."""
    found = builder.lookup_binding(value) if isinstance(value, import_tvm().relax.Var) else None
    return value if found is None else found


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before the layout conversion of texture targets."""
    return before_layout(passes, target, add_operands())


FIX = Fix(
    name="stacked-sum",
    versions=ALL_VERSIONS,
    summary="sums, means and extrema over stacked tensors, as TVM imports ONNX's Sum, Mean, Max and Min, compile for textures",
    relax=add,
)
