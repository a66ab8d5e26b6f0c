"""reduction-epilogue: what follows a reduction elementwise reads sums that its own work-item made.

TVM's GPU Reduction rule, where an axis is read in blocks (the input channels of a 1x1 convolution in groups), lets each
work-item sum one column of a tile into a private array, and then walks the tile in another order for the elementwise
rest: work-items read elements of their private array that they never wrote. 0.25 to 0.27.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..schedules.blocks import blocks_of, schedule_rule
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, SCHEDULE, Fix, before_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


class _WrongTile(Exception):
    """TVM's rule is about to make the tile whose rest is walked in another order."""


def schedule_blocked_reduction(func: Any, target: Target) -> Any:
    """TVM's generic fallback for a function that TVM's Reduction rule gets wrong; None for any other function."""
    dlight = import_tvm().s_tir.dlight
    tiled = inspect.signature(dlight.gpu.Reduction._sch_inner_spatial)

    class Probe(dlight.gpu.Reduction):  # type: ignore[name-defined]
        def _sch_inner_spatial(self, *args: Any) -> None:
            given = tiled.bind(self, *args).arguments
            if given["epilogue_info"] is not None and given["unroll_spatial_factor"]:
                raise _WrongTile

    if len(blocks_of(import_tvm().s_tir.Schedule(func))) < 2:
        return None
    try:
        Probe().apply(func, target, False)
    except _WrongTile:
        return dlight.gpu.Fallback().apply(func, target, False)
    return None


def add_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what it knows before TVM's generic rules see it."""
    return before_last(passes, SCHEDULE, schedule_rule("BlockedReduction", schedule_blocked_reduction))


FIX = Fix(
    name="reduction-epilogue",
    versions=ALL_VERSIONS,
    summary="what follows a reduction over blocks of an axis does not read sums of another work-item's",
    relax=add_rule,
)
