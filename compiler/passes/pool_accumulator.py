"""pool-accumulator: a pooling kernel's accumulator holds all four lanes.

TVM's Adreno Pool2D rule computes the cache-write of the pooled block inside the vectorised loop over the lanes. The
accumulator then has one element, which the lanes overwrite in turn. Seen in 0.25, 0.26 and 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schedules.blocks import accumulate_texel, inline_producers, schedule_rule
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction, iter_kinds
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, SCHEDULE, Fix, before_first

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

POOLED = ("pool_max", "pool_sum", "adaptive_pool_sum")
"""Names TVM's operator library gives the reduction of a pooling."""


def schedule_pool(func: Any, target: Target) -> Any:
    """Schedule a pooling over NCHW4c data: one work-item per texel, its four lanes accumulated in a private array.

    None (left to TVM's rules) for any other function.
    """
    tvm = import_tvm()
    if "adreno" not in target.keys:
        return None
    sch = tvm.s_tir.Schedule(func)
    pools = [block for block in blocks_of(sch) if is_reduction(sch, block)]
    if len(pools) != 1 or sch.get(pools[0]).name_hint not in POOLED or iter_kinds(sch, pools[0]) != "SSSSSRR":
        return None
    inline_producers(sch, pools[0])
    accumulate_texel(sch, pools[0])
    return sch


def add_pool_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what it knows before TVM's rules see it."""
    return before_first(passes, SCHEDULE, schedule_rule("Pool2D", schedule_pool))


FIX = Fix(
    name="pool-accumulator",
    versions=ALL_VERSIONS,
    summary="a pooling kernel accumulates four lanes in four elements, not in one",
    relax=add_pool_rule,
)
