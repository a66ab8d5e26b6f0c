"""Rewrites before partitioning: constant weights as OpenCL ML expects them, batch normalisations that patterns can end in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm
from .describe import attributes, constant_of

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

TRANSPOSED_AXES = {"relax.matmul": (1, 0), "relax.nn.conv2d_transpose": (1, 0, 2, 3)}
"""Operator -> axes that transpose its constant second operand to (N, K) or OIHW."""


def transpose_weights() -> Pass:
    """Relax pass: weights of dense layers and transposed convolutions become permute_dims of a transposed constant.

    TVM's runtime expects transposed weights, and a code generator cannot change constants. FoldConstant undoes the rest.
    """
    tvm = import_tvm()

    @tvm.transform.module_pass(opt_level=0, name="ClmlTurnWeights")
    def turn(mod: Any, _: Any) -> Any:
        return _rewrite(mod, _transpose_weight)

    return turn


def _transpose_weight(call: Any, emit: Any) -> Any:
    relax = import_tvm().relax
    name = read.op_name(call)
    if name not in TRANSPOSED_AXES:
        return call
    array = constant_of(call.args[1])
    axes = TRANSPOSED_AXES[name]
    if array is None or array.ndim != len(axes) or (len(axes) == 4 and attributes(call)["kernel_layout"] != "IOHW"):
        return call
    turned = emit(relax.op.permute_dims(relax.const(array.transpose(axes).copy(), array.dtype.name), list(axes)))
    return relax.Call(call.op, [call.args[0], turned, *call.args[2:]], call.attrs, *_type_args(call))


def _type_args(call: Any) -> list[Any]:
    return [list(getattr(call, "ty_args", getattr(call, "sinfo_args", [])))]


def end_normalisations() -> Pass:
    """The first result of each batch normalisation behind a reshape to its own shape: no pattern may end in an item of a tuple.

    TVM's pass for this fails on modules whose functions call each other.
    """
    tvm = import_tvm()
    relax = tvm.relax

    @tvm.transform.module_pass(opt_level=0, name="ClmlEndNormalisations")
    def end(mod: Any, _: Any) -> Any:
        class Mutator(relax.PyExprMutator):  # type: ignore[name-defined]
            def visit_tuple_getitem_(self, item: Any) -> Any:
                item = super().visit_tuple_getitem_(item)
                bound = self.lookup_binding(item.tuple_value) if isinstance(item.tuple_value, relax.Var) else None
                if item.index != 0 or bound is None or read.kind(bound) != "Call" or read.op_name(bound) != NORM:
                    return item
                return relax.op.reshape(self.builder_.emit(item), read.type_of(bound.args[0]).shape)

        return _mutate(mod, Mutator)

    return end


NORM = "relax.nn.batch_norm"


def _rewrite(mod: Any, change: Any) -> Any:
    """`mod` with every call of its Relax functions passed through `change(call, emit)`."""
    relax = import_tvm().relax

    class Mutator(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            return change(call, self.builder_.emit)

    return _mutate(mod, Mutator)


def _mutate(mod: Any, mutator: Any) -> Any:
    relax = import_tvm().relax
    made = relax.expr_functor.mutator(mutator)(mod)
    for var, function in mod.functions_items():
        if isinstance(function, relax.Function):
            made.builder_.update_func(var, made.visit_expr(function))
    return made.builder_.get()
