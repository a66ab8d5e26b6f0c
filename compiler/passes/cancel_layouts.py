"""Layout transforms between tensors and texels, and the removal of those that undo each other.

They meet where a packed operator of this project's follows, or is followed by, what ConvertLayout packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .fold_layouts import apply_index_map

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

TRANSFORM = "relax.layout_transform"


def to_texels(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    """NCHW to NCHW4c."""
    return n, c // 4, h, w, c % 4


def weight_to_texels(o: Any, i: Any, h: Any, w: Any) -> tuple[Any, ...]:
    """OIHW to OIHW4o."""
    return o // 4, i, h, w, o % 4


def from_texels(n: Any, c: Any, h: Any, w: Any, lane: Any) -> tuple[Any, ...]:
    """NCHW4c to NCHW."""
    return n, c * 4 + lane, h, w


def cancel_layouts() -> Pass:
    """Relax pass: a layout transform of one that it undoes becomes what was there before both."""
    tvm = import_tvm()
    clean = [tvm.relax.transform.CanonicalizeBindings(), tvm.relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential(
        [rewrite_calls("CancelLayouts", (TRANSFORM,), _cancel), *clean], name="adreno_sim.CancelLayouts"
    )


def _cancel(builder: Any, call: Any) -> Any:
    relax = import_tvm().relax
    source = builder.lookup_binding(call.args[0]) if isinstance(call.args[0], relax.Var) else None
    if source is None or getattr(getattr(source, "op", None), "name", "") != TRANSFORM:
        return call
    original = source.args[0]
    shape = shape_values(type_of(original))
    if shape is None or not undoes(source.attrs.index_map, call.attrs.index_map, shape):
        return call
    return original


def undoes(first: Any, second: Any, shape: list[Any]) -> bool:
    """Whether index map `second` after `first` sends every index of `shape` to itself."""
    if not all(isinstance(size, import_tvm().tirx.IntImm) for size in shape):
        return False
    grid = list(np.indices([int(size) for size in shape], sparse=True))
    back = apply_index_map(second, apply_index_map(first, grid))
    return back is not None and len(back) == len(grid) and all((a == b).all() for a, b in zip(back, grid, strict=True))
