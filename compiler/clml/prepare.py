"""A rewrite before partitioning: constant weights as OpenCL ML wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import tvmread as read
from ..compat import import_tvm
from .describe import attributes, constant_of

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

TURN = {"relax.matmul": (1, 0), "relax.nn.conv2d_transpose": (1, 0, 2, 3)}
"""Operator -> axes that turn its constant second operand into (N, K), or OIHW."""


def turn_weights() -> Pass:
    """Constant weights of dense layers and transposed convolutions as permute_dims of a turned constant.

    The runtime wants them turned, and a code generator cannot change constants. What is not offloaded is folded back.
    """
    tvm = import_tvm()

    @tvm.transform.module_pass(opt_level=0, name="ClmlTurnWeights")
    def turn(mod: Any, _: Any) -> Any:
        return _rewrite(mod, _turned)

    return turn


def _turned(call: Any, emit: Any) -> Any:
    relax = import_tvm().relax
    name = read.op_name(call)
    if name not in TURN:
        return call
    array = constant_of(call.args[1])
    axes = TURN[name]
    if array is None or array.ndim != len(axes) or (len(axes) == 4 and attributes(call)["kernel_layout"] != "IOHW"):
        return call
    turned = emit(relax.op.permute_dims(relax.const(array.transpose(axes).copy(), array.dtype.name), list(axes)))
    return relax.Call(call.op, [call.args[0], turned, *call.args[2:]], call.attrs, *_type_args(call))


def _type_args(call: Any) -> list[Any]:
    return [list(getattr(call, "ty_args", getattr(call, "sinfo_args", [])))]


def _rewrite(mod: Any, change: Any) -> Any:
    """`mod` with every call of its Relax functions passed through `change(call, emit)`."""
    tvm = import_tvm()
    relax = tvm.relax

    class Mutator(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            return change(call, self.builder_.emit)

    mutator = relax.expr_functor.mutator(Mutator)(mod)
    for var, function in mod.functions_items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(var, mutator.visit_expr(function))
    return mutator.builder_.get()
