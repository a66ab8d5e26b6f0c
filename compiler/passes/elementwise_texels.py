"""elementwise-texels: elementwise operators next to packed ones work on texels too.

ConvertLayout carries NCHW4c on through the operators it knows; at others, such as the clipping of an imported ReLU6 or
what follows a transposed convolution, it goes back to NCHW and a buffer, and packs again behind. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, LAYOUT, Fix, after_first, before_layout
from .cancel_layouts import TRANSFORM, cancel_layouts, from_texels, to_texels, undoes
from .constant_rank import BINARY
from .fold_layouts import fold_layouts
from .raise_elementwise import raise_elementwise

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

UNARY = tuple(
    f"relax.{name}"
    for name in ("abs", "ceil", "clip", "cos", "erf", "exp", "floor", "log", "negative", "round", "rsqrt", "sigmoid", "sign",
                 "sin", "sqrt", "square", "tanh", "nn.gelu", "nn.gelu_tanh", "nn.leakyrelu", "nn.relu", "nn.relu6", "nn.silu",
                 "nn.softplus", "astype")
)  # fmt: skip

BOUNDS = ("PrimValue", "FloatImm", "IntImm")
"""What the bounds of a clip are: PrimValue in 0.25, FloatImm or IntImm later."""


def keep_texels() -> Pass:
    """Relax pass after ConvertLayout: an elementwise operator on unpacked texels is applied to the texels, unpacked after."""
    tvm = import_tvm()
    steps = [fold_layouts(), rewrite_calls("KeepTexels", (*UNARY, *BINARY), _keep), cancel_layouts()]
    return tvm.transform.Sequential(steps, name="adreno_sim.KeepTexels")


def _keep(builder: Any, call: Any) -> Any:
    relax = import_tvm().relax
    packed = [_texels(builder, arg) for arg in call.args]
    if all(texels is None for texels in packed):
        return call
    args = [_beside_texels(arg) if texels is None else texels for arg, texels in zip(call.args, packed, strict=True)]
    if any(arg is None for arg in args):
        return call
    result = builder.emit(relax.Call(call.op, args, call.attrs))
    return relax.op.layout_transform(result, from_texels)


def _texels(builder: Any, arg: Any) -> Any:
    """The NCHW4c tensor whose unpacked form is `arg`, None if it is not one."""
    tvm = import_tvm()
    source: Any = builder.lookup_binding(arg) if isinstance(arg, tvm.relax.Var) else None
    if getattr(getattr(source, "op", None), "name", "") != TRANSFORM:
        return None
    shape = shape_values(type_of(arg))
    pack = tvm.tirx.IndexMap.from_func(to_texels, index_dtype="int64")
    return source.args[0] if shape is not None and len(shape) == 4 and undoes(pack, source.attrs.index_map, shape) else None


def _beside_texels(arg: Any) -> Any:
    """A constant, or a number, in the form in which it meets texels; None for anything else."""
    relax = import_tvm().relax
    array = constant_array(arg)
    if array is None:
        return arg if type(arg).__name__ in BOUNDS else None
    if array.ndim == 0:
        return arg
    if array.ndim != 4:
        return None
    if array.shape[1] == 1:
        return relax.const(array[..., None], str(array.dtype))
    blocks = array.reshape(array.shape[0], -1, 4, *array.shape[2:])
    return relax.const(np.ascontiguousarray(np.moveaxis(blocks, 2, -1)), str(array.dtype))


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before and right after the layout conversion of texture targets."""
    if "texture" not in target.keys:
        return passes
    passes = before_layout(passes, target, raise_elementwise())
    return after_first(passes, LAYOUT, keep_texels())


FIX = Fix(
    name="elementwise-texels",
    versions=ALL_VERSIONS,
    summary="elementwise operators that the layout conversion does not know stay in textures",
    relax=add,
)
