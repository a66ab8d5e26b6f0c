"""plain-convolution: convolutions that TVM cannot pack for textures stay in NCHW, in buffers.

ConvertLayout fails on the whole module for a transposed convolution ("Layouts must have the same size"). With a symbolic
batch, the layout transform cannot be scheduled and the tensors get a storage scope that TVM itself does not know.
0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix
from .relax_calls import before_layout, rewrite_calls

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

TRANSPOSED = ("relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose", "relax.nn.conv3d_transpose")


def keep_plain() -> Pass:
    """Relax pass before ConvertLayout: legalises such convolutions, which hides them from the layout passes."""
    return rewrite_calls("KeepPlainConvolutions", (*TRANSPOSED, "relax.nn.conv2d"), _legalise)


def _legalise(builder: Any, call: Any) -> Any:
    if call.op.name in TRANSPOSED or _symbolic(call):
        return import_tvm().ir.Op.get(call.op.name).get_attr("FLegalize")(builder, call)
    return call


def _symbolic(call: Any) -> bool:
    shape = shape_values(type_of(call.args[0]))
    return shape is None or not all(isinstance(size, import_tvm().tirx.IntImm) for size in shape)


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before the layout conversion of texture targets."""
    return before_layout(passes, target, keep_plain())


FIX = Fix(
    name="plain-convolution",
    versions=ALL_VERSIONS,
    summary="transposed and symbolic-batch convolutions are computed in buffers and compile",
    relax=add,
)
