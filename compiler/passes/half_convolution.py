"""half-convolution: float16 convolutions compile for textures.

TVM's Adreno legalisation of a packed conv2d forgets the output type, so that the PrimFunc computes float32 where its
caller expects float16, and fusion stops with "Inconsistent buffers". 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compat import import_tvm, type_of
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def legalise(builder: Any, call: Any) -> Any:
    """A packed conv2d as TVM's topi.nn.conv2d_NCHWc_OIHWo, computing in the type of the call."""
    from tvm import topi

    attrs = call.attrs
    return builder.call_te(
        topi.nn.conv2d_NCHWc_OIHWo,
        data=call.args[0],
        kernel=call.args[1],
        stride=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
        layout=attrs.data_layout,
        out_layout=attrs.out_layout,
        out_dtype=str(type_of(call).dtype),
        primfunc_name_hint="conv2d_NCHWc_OIHWo",
    )


def add_legalisation(passes: list[Pass], target: Target) -> list[Pass]:
    """Legalise just before TVM's own pass for packed convolutions, the last LegalizeOps of a texture target."""
    if "texture" not in target.keys:
        return passes
    last = max(i for i, item in enumerate(passes) if item.info.name == "LegalizeOps")
    ours = import_tvm().relax.transform.LegalizeOps({"relax.nn.conv2d": legalise})
    return [*passes[:last], ours, *passes[last:]]


FIX = Fix(
    name="half-convolution",
    versions=ALL_VERSIONS,
    summary="a packed convolution has the output type its caller asked for, so that float16 compiles",
    relax=add_legalisation,
)
