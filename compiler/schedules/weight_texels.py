"""The schedule of a packed convolution whose weights are a texture: TVM's, with each texel of weights read once.

TVM's rule sums the four channels of a texel one by one, and reads the weights for each: from a buffer that is one element, from a
texture four times the same texel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import buffer_info, buffer_param
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.target import Target

WEIGHT = 1
"""Position of the weights among the parameters of a convolution."""


def schedule_weight_texels(func: Any, target: Target) -> Any:
    """Schedule a function around TVM's packed convolution whose weights are a texture; None for any other."""
    tvm = import_tvm()
    dlight = tvm.s_tir.dlight
    if "adreno" not in target.keys or not _has_weight_texture(func):
        return None
    sch = dlight.adreno.Conv2d().apply(func, target, False)
    if sch is None:
        return None
    (block,) = (block for block in blocks_of(sch) if "conv2d_NCHWc" in str(sch.get(block).name_hint) and is_reduction(sch, block))
    hold_texels(sch, block)
    return sch


def _has_weight_texture(func: Any) -> bool:
    """Whether the function's second parameter, of at least three, is a texture of weights."""
    info = buffer_param(func, func.params[WEIGHT]) if len(func.params) > WEIGHT + 1 else None
    return info is not None and info.scope.startswith("global.texture") and len(info.shape) == 5


def hold_texels(sch: Any, block: Any) -> None:
    """Read each texel that the block takes from a texture once, into a private array, outside the loop over its lanes."""
    for number, region in enumerate(sch.get(block).reads):
        info = buffer_info(region.buffer if hasattr(region, "buffer") else region.source)
        if info.scope.startswith("global.texture"):
            texel = sch.cache_read(block, number, "local")
            sch.compute_at(texel, sch.get_loops(block)[-2], preserve_unit_loops=True)
            sch.vectorize(sch.get_loops(texel)[-1])
