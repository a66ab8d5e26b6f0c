"""stacked-sum: a sum over an axis that `stack` has just made is written as additions.

So TVM's ONNX importer writes the operator Sum, of two operands as of more. The fifth axis stops ConvertLayout where an operand
comes from a convolution ("can't find S in source layout ABCDE"). 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix
from .relax_calls import before_layout, rewrite_calls

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def add_operands() -> Pass:
    """Relax pass: `sum(stack((a, b, ...), axis), axis)` becomes a + b + ..., in this order."""
    tvm = import_tvm()
    relax = tvm.relax
    sums = rewrite_calls("AddOperands", ("relax.sum",), _rewrite)
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
    for term in others:
        total = builder.emit(import_tvm().relax.op.add(total, term))
    return total


def _strip_broadcast(builder: Any, term: Any) -> Any:
    """The operand of a broadcast_to its own shape; any other `term` as it is."""
    broadcast = _call_of(builder, term, "relax.broadcast_to")
    if broadcast is None or not _same_shape(broadcast.args[0], term):
        return term
    return broadcast.args[0]


def _same_shape(one: Any, other: Any) -> bool:
    shapes = [shape_values(type_of(value)) for value in (one, other)]
    return None not in shapes and list(map(str, shapes[0] or ())) == list(map(str, shapes[1] or ()))


def _call_of(builder: Any, value: Any, operator: str) -> Any:
    """The call of this operator that gives `value`; None where it is none."""
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
    summary="a sum over stacked tensors, as TVM imports ONNX's Sum, compiles for textures",
    relax=add,
)
