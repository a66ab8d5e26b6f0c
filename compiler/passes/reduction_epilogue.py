"""reduction-epilogue: TVM's generic rule schedules reductions over blocks of an axis that its Reduction rule gets wrong.

That rule reads an axis in blocks where the reduction does (output channels of a convolution in groups, rows of a transposed one
with strides). Then it is wrong, or does not compile:

* What follows the reduction elementwise walks the tile in another order: work-items read elements of their private array that
  they never wrote.
* A sum over the innermost axis by the work-items of a group is not the deepest of the block's loops, as LowerCrossThreadReduction
  asks.
* Where blocks do not divide the axis, sums of the last one are stored without its condition, behind the end of a row.

It also fails on what follows a sum without a remaining axis (the division of a mean over all of a tensor), and no rule behind it
is asked.

0.25 to 0.27.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..schedules.blocks import schedule_rule
from ..tvm_bridge import read
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction, written_buffer
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, SCHEDULE, Fix, before_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


class _WrongTile(Exception):
    """TVM's rule is about to make a tile that it gets wrong."""


class _NoTile(Exception):
    """TVM's rule is about to fail on what follows a sum without a remaining axis."""


def schedule_blocked_reduction(func: Any, target: Target) -> Any:
    """A schedule by TVM's next rules for a function that its Reduction rule gets wrong; None for any other function."""
    tvm = import_tvm()
    gpu = tvm.s_tir.dlight.gpu
    tiled = inspect.signature(gpu.Reduction._sch_inner_spatial)
    summed = inspect.signature(gpu.Reduction._sch_inner_reduction)

    class Probe(gpu.Reduction):  # type: ignore[name-defined]
        def _sch_inner_spatial(self, *args: Any) -> None:
            given = tiled.bind(self, *args).arguments
            if given["unroll_spatial_factor"] and (
                given["epilogue_info"] is not None or _has_remainder(given["sch"], given["block"])
            ):
                raise _WrongTile

        def _sch_inner_reduction(self, *args: Any) -> None:
            given = summed.bind(self, *args).arguments
            if given["epilogue_info"] is not None and not written_buffer(given["sch"], given["block"]).shape:
                raise _NoTile
            if given["unroll_spatial_factor"]:
                raise _WrongTile

    sch = tvm.s_tir.Schedule(func)
    if not any(is_reduction(sch, block) for block in blocks_of(sch)):
        return None
    try:
        Probe().apply(func, target, False)
    except _WrongTile:
        return gpu.Fallback().apply(func, target, False)
    except _NoTile:
        return gpu.GeneralReduction().apply(func, target, False) or gpu.Fallback().apply(func, target, False)
    return None


def _has_remainder(sch: Any, block: Any) -> bool:
    """Whether a block runs under a condition, as where a loop was split into parts that do not divide it."""
    predicate = sch.get(sch.get_loops(block)[-1]).body.predicate
    return not (read.kind(predicate) == "IntImm" and int(predicate) == 1)


def add_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what it knows before TVM's generic rules see it."""
    return before_last(passes, SCHEDULE, schedule_rule("BlockedReduction", schedule_blocked_reduction))


FIX = Fix(
    name="reduction-epilogue",
    versions=ALL_VERSIONS,
    summary="reductions over blocks of an axis, and of a whole tensor, compile; they read no sum of another work-item's",
    relax=add_rule,
)
