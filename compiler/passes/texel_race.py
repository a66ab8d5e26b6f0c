"""texel-race: a left-over elementwise function that writes a texture gets one work-item per texel.

TVM's Adreno pipeline ends with the generic GPU fallback rule, which makes one work-item per scalar. Where the output is
a texture, four work-items then write the same texel, each with its own lane in all four channels. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compat import import_tvm
from .base import ALL_VERSIONS, Fix
from .schedules import bind_block, blocks_of, inline_producers, is_reduction, schedule_rule, writes_texture

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def schedule_texels(func: Any, target: Target) -> Any:
    """Schedule a function whose results are elementwise and go to textures; None for any other function."""
    if "adreno" not in target.keys:
        return None
    sch = import_tvm().s_tir.Schedule(func)
    results = [block for block in blocks_of(sch) if not sch.get_consumers(block)]
    if not any(writes_texture(sch, block) for block in results) or any(is_reduction(sch, block) for block in blocks_of(sch)):
        return None
    for block in results:
        inline_producers(sch, block)
    for block in blocks_of(sch):
        bind_block(sch, block)
    return sch


def add_texel_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what TVM's Adreno rules left, before the generic fallback sees it."""
    last = max(i for i, item in enumerate(passes) if item.info.name == "ApplyDefaultSchedule")
    return [*passes[:last], schedule_rule("TexelFallback", schedule_texels), *passes[last:]]


FIX = Fix(
    name="texel-race",
    versions=ALL_VERSIONS,
    summary="elementwise functions with texture results run one work-item per texel, not four racing ones",
    relax=add_texel_rule,
)
