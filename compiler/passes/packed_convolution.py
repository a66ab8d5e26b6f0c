"""packed-convolution: convolutions over texels compile and are right for any groups and for float16.

TVM's Adreno legalisation of a packed conv2d forgets the output type, so that a float16 one computes float32 where its
caller expects float16, and fusion stops with "Inconsistent buffers". Its operator supposes that groups are whole texels:
a depthwise convolution divides by zero, others read channels of another group. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schedules.blocks import schedule_rule
from ..schedules.packed_convolution import packed_conv2d
from ..schedules.packed_rule import schedule_packed
from ..tvm_bridge.versions import import_tvm, type_arguments, type_of
from .base import ALL_VERSIONS, LEGALIZE, SCHEDULE, Fix, before_first, before_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def legalise(builder: Any, call: Any) -> Any:
    """A packed conv2d, computing in the type of the call: TVM's operator without groups, this project's with groups.

    The scope chosen for the result rides in the call's type arguments, and goes on to the PrimFunc's call.
    """
    from tvm import topi

    attrs = call.attrs
    out_dtype = str(type_of(call).dtype)
    strides, padding, dilation = ([int(n) for n in numbers] for numbers in (attrs.strides, attrs.padding, attrs.dilation))
    operator, *last = topi.nn.conv2d_NCHWc_OIHWo, attrs.data_layout, attrs.out_layout, out_dtype
    if int(attrs.groups) > 1:
        operator, *last = packed_conv2d, int(attrs.groups), out_dtype
    return builder.call_te(
        operator, *call.args, strides, padding, dilation, *last, primfunc_name_hint=operator.__name__, **type_arguments(call)
    )


def add_legalisation(passes: list[Pass], target: Target) -> list[Pass]:
    """Legalise just before TVM's own pass for packed convolutions, the last LegalizeOps of a texture target."""
    if "texture" not in target.keys:
        return passes
    passes = before_last(passes, LEGALIZE, import_tvm().relax.transform.LegalizeOps({"relax.nn.conv2d": legalise}))
    return before_first(passes, SCHEDULE, schedule_rule("PackedConvolution", schedule_packed))


FIX = Fix(
    name="packed-convolution",
    versions=ALL_VERSIONS,
    summary="convolutions over texels compile in float16 and for any groups, depthwise among them",
    relax=add_legalisation,
)
