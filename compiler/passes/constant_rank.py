"""constant-rank: constant operands of elementwise operators get a rank that the layout conversion can handle.

ConvertLayout packs the other operand to five axes and then stops at a constant like (1, 1, 1, 1) or (C, 1, 1), as
exporters write them: "Cannot broadcast from 5 to 4". As scalars and images they stay in textures, where plain-operators, which
takes any such operand, goes through a buffer. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix, before_layout

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

BINARY = tuple(
    f"relax.{name}"
    for name in ("add", "subtract", "multiply", "divide", "floor_divide", "mod", "power", "maximum", "minimum",
                 "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)  # fmt: skip


def reshape_constants() -> Pass:
    """Relax pass: one-element constants become scalars, others get leading axes up to the rank of the other operand."""
    return rewrite_calls("ReshapeConstants", BINARY, _rewrite)


def _rewrite(_builder: Any, call: Any) -> Any:
    ranks = [len(shape_values(type_of(arg)) or ()) for arg in call.args]
    arrays = [constant_array(arg) for arg in call.args]
    if max(ranks) < 4 or all(array is not None for array in arrays):
        return call
    args = [_reshape_constant(arg, array, max(ranks)) for arg, array in zip(call.args, arrays, strict=True)]
    return getattr(import_tvm().relax.op, call.op.name.removeprefix("relax."))(*args)


def _reshape_constant(arg: Any, array: np.ndarray | None, rank: int) -> Any:
    if array is None or array.ndim == 0 or (array.ndim == rank and array.size > 1):
        return arg
    shape = () if array.size == 1 else (1,) * (rank - array.ndim) + array.shape
    return import_tvm().relax.const(array.reshape(shape), str(array.dtype))


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before the layout conversion of texture targets."""
    return before_layout(passes, target, reshape_constants())


FIX = Fix(
    name="constant-rank",
    versions=ALL_VERSIONS,
    summary="elementwise operators with (1, 1, 1, 1) or low-rank constants stay in textures",
    relax=add,
)
