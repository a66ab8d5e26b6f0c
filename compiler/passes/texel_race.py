"""texel-race: a left-over function that writes a texture gets one work-item per texel.

TVM's Adreno pipeline ends with the generic GPU reduction and fallback rules, which make one work-item, or one
work-group, per scalar. Where the output is a texture, four of them then write the same texel, each with its own lane
in all four channels; or one lane is stored where a vector is needed, which does not compile. 0.25 to 0.27.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ..schedules.blocks import accumulate_texel, bind_block, has_texel_lane, inline_producers, schedule_rule, writes_texture
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, SCHEDULE, Fix, before_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def schedule_texels(func: Any, target: Target) -> Any:
    """Schedule a function whose results go to textures; None for any other function."""
    tvm = import_tvm()
    if "adreno" not in target.keys:
        return None
    sch = tvm.s_tir.Schedule(func)
    results = [block for block in blocks_of(sch) if not sch.get_consumers(block)]
    if not any(writes_texture(sch, block) for block in results):
        return None
    reductions = [block for block in blocks_of(sch) if is_reduction(sch, block)]
    if len(reductions) == 1 and len(results) == 1 and has_texel_lane(sch, reductions[0]):
        with contextlib.suppress(tvm.s_tir.ScheduleError):
            return _as_one_block(tvm.s_tir.Schedule(func))
    for block in results:
        inline_producers(sch, block)
    for block in blocks_of(sch):
        bind_block(sch, block)
    return sch


def _as_one_block(sch: Any) -> Any:
    """A reduction with elementwise neighbours on both sides, which are computed along with it."""
    (reduction,) = (block for block in blocks_of(sch) if is_reduction(sch, block))
    inline_producers(sch, reduction)
    accumulate_texel(sch, reduction)
    return sch


def add_texel_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what TVM's Adreno rules left, before the generic fallback sees it."""
    return before_last(passes, SCHEDULE, schedule_rule("TexelFallback", schedule_texels))


FIX = Fix(
    name="texel-race",
    versions=ALL_VERSIONS,
    summary="left-over functions with texture results run one work-item per texel, not four racing ones",
    relax=add_texel_rule,
)
