"""The schedule of this project's convolutions over texels: a work-item per texel of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import kind, walk
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction
from ..tvm_bridge.versions import import_tvm
from .blocks import accumulate_texel, inline_producers
from .packed_convolution import CONV2D, CONV2D_TRANSPOSE

if TYPE_CHECKING:
    from tvm.target import Target


def schedule_packed(func: Any, target: Target) -> Any:
    """Schedule a function around one of `packed_convolution`'s operators; None for any other function,
    and for one whose rest cannot be computed where a texel is written."""
    if "adreno" not in target.keys:
        return None
    tvm = import_tvm()
    sch = tvm.s_tir.Schedule(func)
    packed = [block for block in blocks_of(sch) if sch.get(block).name_hint in (CONV2D, CONV2D_TRANSPOSE)]
    sums = [block for block in blocks_of(sch) if is_reduction(sch, block)]
    if len(packed) != 1 or not {sch.get(block).name_hint for block in sums} <= {CONV2D, CONV2D_TRANSPOSE}:
        return None  # a sum of one term is not a reduction any more
    try:
        inline_producers(sch, packed[0])
        accumulate_texel(sch, packed[0], vectorise=reads_by_texel(sch, packed[0]))
    except tvm.s_tir.ScheduleError:
        return None
    return sch


def reads_by_texel(sch: Any, block: Any) -> bool:
    """Whether what the block reads for the four lanes of its result is one texel, or one element for all four."""
    stmt = sch.get(block)
    lane = stmt.writes[0].region[-1].min
    indices = [list(node.indices) for node in walk(stmt.body) if kind(node) in ("BufferLoad", "TensorLoad")]
    return all(
        not any(_uses(index, lane) for index in outer) and (last.same_as(lane) or not _uses(last, lane))
        for *outer, last in indices
    )


def _uses(expr: Any, var: Any) -> bool:
    return any(found.same_as(var) for found in import_tvm().tirx.analysis.undefined_vars(expr))
