"""local-memory: what a function keeps in local memory fits the device.

TVM's GeneralReduction rule is made for softmax and norms, whose reductions have one result a row. It takes every function of
reductions with an elementwise end, and keeps all results of a work-group's row in local memory: of a convolution that is padded
for the next one, a whole image. The build accepts it, and no launch does. 0.25 to 0.27.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...schedules.blocks import schedule_rule
from ...tvm_bridge.read import BufferInfo, buffer_info, kind, scalar_dtype, walk
from ...tvm_bridge.schedule_blocks import blocks_of
from ...tvm_bridge.versions import import_tvm
from ..base import ALL_VERSIONS, SCHEDULE, Fix, before_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

LIMIT = "max_shared_memory_per_block"
"""The target's attribute that says how many bytes of local memory a work-group may have."""


def schedule_large_reduction(func: Any, target: Target) -> Any:
    """TVM's generic fallback for a function whose TVM schedule takes more local memory than the target has; else None.

    The fallback gives each reduction a separate kernel, and keeps its results in global memory.
    """
    dlight = import_tvm().s_tir.dlight
    limit = target.attrs.get(LIMIT)
    blocks = blocks_of(import_tvm().s_tir.Schedule(func))
    if limit is None or len(blocks) < 2 or dlight.gpu.Reduction().apply(func, target, False) is not None:
        return None
    sch = dlight.gpu.GeneralReduction().apply(func, target, False)
    if sch is None or local_bytes(sch.mod["main"]) <= int(limit):
        return None
    return dlight.gpu.Fallback().apply(func, target, False)


def local_bytes(func: Any) -> float:
    """Bytes of local memory that a scheduled function takes, each buffer cut to what a work-group uses of it. Infinite where a
    size is not a constant: OpenCL C has no such array."""
    tvm = import_tvm()
    steps = tvm.s_tir.transform
    cut = tvm.transform.Sequential(
        [steps.LowerCrossThreadReduction(), steps.LowerInitBlock(), steps.PlanAndUpdateBufferAllocationLocation(),
         steps.ConvertBlocksToOpaque(), steps.LiftThreadBinding(), steps.CompactBufferAllocation()]
    )(tvm.IRModule({"main": func}))  # fmt: skip
    buffers = [buffer_info(buffer) for node in walk(cut["main"].body) for buffer in getattr(node, "alloc_buffers", ())]
    return sum((_nbytes(info) for info in buffers if info.scope == "shared"), 0.0)


def _nbytes(info: BufferInfo) -> float:
    sizes = [int(dim) if kind(dim) == "IntImm" else math.inf for dim in info.shape]
    return math.prod(sizes) * np.dtype(scalar_dtype(info.dtype, info.name)[0]).itemsize


def add_rule(passes: list[Pass], _target: Target) -> list[Pass]:
    """Let this rule schedule what it knows before TVM's generic rules see it."""
    return before_last(passes, SCHEDULE, schedule_rule("LargeReduction", schedule_large_reduction))


FIX = Fix(
    name="local-memory",
    versions=ALL_VERSIONS,
    summary="reductions whose results do not fit in local memory keep them in global memory, and can be launched",
    relax=add_rule,
)
