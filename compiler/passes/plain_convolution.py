"""plain-convolution: convolutions that TVM cannot pack for textures stay in NCHW, in buffers.

ConvertLayout fails on the whole module for a transposed convolution ("Layouts must have the same size"). With a symbolic
batch, the layout transform cannot be scheduled and the tensors get a storage scope that TVM itself does not know. TVM's code
generator has texels of four elements of 16 or 32 bits alone: for others it stops ("Unsupported Channel Size: 32"), and its code
that gathers four bytes writes one of them four times. Of a convolution that stays plain, it forgets the device of the result,
and a reshape behind it reads a variable that is nowhere defined. 0.25 to 0.27.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, LAYOUT, Fix, after_first, before_layout

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

TRANSPOSED = ("relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose", "relax.nn.conv3d_transpose")


def keep_plain() -> Pass:
    """Relax pass before ConvertLayout: legalises such convolutions, which hides them from the layout passes; and with them what
    else computes on elements that no texel holds, as ConvertLayout would pack its operands."""
    tvm = import_tvm()
    operators = [name for name in tvm.ir.Op.list_op_names() if str(name).startswith("relax.")]
    return rewrite_calls("KeepPlainConvolutions", operators, _legalise)


def _legalise(builder: Any, call: Any) -> Any:
    name = str(call.op.name)
    plain = name in TRANSPOSED or (name == "relax.nn.conv2d" and _symbolic(call)) or not _fits_texels(call)
    make = call.op.get_attr("FLegalize") if plain else None
    return call if make is None else make(builder, call)


def legalise_plain() -> Pass:
    """Relax pass after ConvertLayout: legalises the convolutions that it left as they were."""

    def rewrite(builder: Any, call: Any) -> Any:
        return call if str(call.attrs.data_layout) == "NCHW4c" else call.op.get_attr("FLegalize")(builder, call)

    return rewrite_calls("LegalisePlainConvolutions", ("relax.nn.conv2d",), rewrite)


def _fits_texels(call: Any) -> bool:
    """Whether every image that the call reads or makes has elements of 16 or 32 bits."""
    types = [type_of(expr) for expr in (*call.args, call) if isinstance(expr, import_tvm().relax.Expr)]
    images = [str(kind.dtype) for kind in types if len(shape_values(kind) or ()) == 4]
    return all(re.sub("[^0-9]", "", dtype) in ("16", "32") for dtype in images)


def _symbolic(call: Any) -> bool:
    shape = shape_values(type_of(call.args[0]))
    return shape is None or not all(isinstance(size, import_tvm().tirx.IntImm) for size in shape)


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before and after the layout conversion of texture targets."""
    if "texture" not in target.keys:
        return passes
    return after_first(before_layout(passes, target, keep_plain()), LAYOUT, legalise_plain())


FIX = Fix(
    name="plain-convolution",
    versions=ALL_VERSIONS,
    summary="transposed and symbolic-batch convolutions, and those of bytes, are computed in buffers and compile",
    relax=add,
)
