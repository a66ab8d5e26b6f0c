"""packed-transpose: transposed convolutions are computed over texels.

TVM's Adreno pipeline packs conv2d alone; ConvertLayout fails on a module with a conv2d_transpose ("Layouts must have the
same size"). 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schedules.packed_convolution import CONV2D_TRANSPOSE, LANES, packed_conv2d_transpose
from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, LAYOUT, Fix, after_first, before_layout
from .cancel_layouts import cancel_layouts, from_texels, to_texels, weight_to_texels

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def pack_transposes() -> Pass:
    """Relax pass before ConvertLayout: conv2d_transpose of whole texels becomes a packed one between layout transforms."""
    return rewrite_calls("PackTransposedConvolutions", ("relax.nn.conv2d_transpose",), _pack)


def _pack(builder: Any, call: Any) -> Any:
    data, weight = call.args
    sizes = _static(data), _static(weight)
    attrs = call.attrs
    if sizes[0] is None or sizes[1] is None or (attrs.data_layout, attrs.kernel_layout) != ("NCHW", "IOHW"):
        return call
    groups = int(attrs.groups)
    outputs = sizes[1][1] * groups
    if sizes[0][1] % LANES or outputs % LANES:
        return call
    op = import_tvm().relax.op
    packed = builder.emit(op.layout_transform(data, to_texels))
    kernel = builder.emit(op.layout_transform(_as_oihw(builder, weight, sizes[1], groups), weight_to_texels))
    numbers = ([int(n) for n in field] for field in (attrs.strides, attrs.padding, attrs.output_padding, attrs.dilation))
    dtype = str(type_of(call).dtype)
    result = builder.call_te(
        packed_conv2d_transpose, packed, kernel, *numbers, groups, dtype, primfunc_name_hint=CONV2D_TRANSPOSE
    )
    _allow_textures(builder, result, packed, kernel)
    return op.layout_transform(builder.emit(result), from_texels)


def _static(expr: Any) -> list[int] | None:
    values = shape_values(type_of(expr))
    if values is None or not all(isinstance(size, import_tvm().tirx.IntImm) for size in values):
        return None
    return [int(size) for size in values]


def _as_oihw(builder: Any, weight: Any, sizes: list[int], groups: int) -> Any:
    """An IOHW weight (C, O/groups, KH, KW) as (O, C/groups, KH, KW)."""
    op = import_tvm().relax.op
    inputs, outputs, *kernel = sizes
    if groups == 1:
        return builder.emit(op.permute_dims(weight, [1, 0, 2, 3]))
    split = builder.emit(op.reshape(weight, (groups, inputs // groups, outputs, *kernel)))
    swapped = builder.emit(op.permute_dims(split, [0, 2, 1, 3, 4]))
    return builder.emit(op.reshape(swapped, (groups * outputs, inputs // groups, *kernel)))


def _allow_textures(builder: Any, result: Any, data: Any, weight: Any) -> None:
    """Give the PrimFunc the attributes of a packed conv2d, by which TVM's scope annotation knows what may use textures."""
    nn = import_tvm().relax.op.nn
    like = nn.conv2d(data, weight, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c")
    var = result.args[0]
    builder.update_func(var, builder.get()[var].with_attr("op_attrs", like.attrs))


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before the layout conversion of texture targets, and take out transforms that undo each other after it."""
    if "texture" not in target.keys:
        return passes
    passes = before_layout(passes, target, pack_transposes())
    return after_first(passes, LAYOUT, cancel_layouts())


FIX = Fix(
    name="packed-transpose",
    versions=ALL_VERSIONS,
    summary="transposed convolutions of whole texels are computed from and to textures",
    relax=add,
)
