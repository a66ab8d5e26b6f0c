"""unbound-block: every block of a device function runs on the device.

TVM's rules leave some blocks without a thread binding: an elementwise block after a convolution whose result is
broadcast (the gate of a squeeze-and-excite block), and functions whose reduction bounds depend on the position
(adaptive pooling to a grid). The build accepts them, and they become host code that works on device memory, which no
OpenCL runtime can run. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schedules.blocks import bind_block
from ..tvm_bridge.schedule_blocks import blocks_of
from ..tvm_bridge.versions import import_tvm
from .base import ALL_VERSIONS, SCHEDULE, Fix, after_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def bind_unbound_blocks() -> Pass:
    """Module pass after scheduling: spread every block without a thread binding over work-items of its own."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, func in mod.functions_items():
            if isinstance(func, tvm.tirx.PrimFunc):
                bound = _bind(func)
                if bound is not func:
                    mod[var] = bound
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.BindUnboundBlocks")


def _bind(func: Any) -> Any:
    """The function with its blocks bound; itself where all are, or where TVM makes no schedule of it: its build says why."""
    tvm = import_tvm()
    try:
        sch = tvm.s_tir.Schedule(func)
    except tvm.error.InternalError:  # TIR that TVM itself made and does not take, as of NonMaxSuppression
        return func
    unbound = [block for block in blocks_of(sch) if _can_bind(sch, block) and not _has_threads(sch, block)]
    for block in unbound:
        bind_block(sch, block)
    return sch.mod["main"].with_attr("tirx.is_scheduled", True) if unbound else func


def _can_bind(sch: Any, block: Any) -> bool:
    """Whether a block says what it writes. One that does not was written by hand (TVM's sorts and scans), with its threads."""
    return bool(sch.get(block).iter_vars) and len(sch.get(block).writes) > 0


def _has_threads(sch: Any, block: Any) -> bool:
    return any(sch.get(loop).thread_binding is not None for loop in sch.get_loops(block))


def add_binding(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run after the last of TVM's schedule rules."""
    return after_last(passes, SCHEDULE, bind_unbound_blocks())


FIX = Fix(
    name="unbound-block",
    versions=ALL_VERSIONS,
    summary="blocks that no rule gave threads run on the device, not on the host",
    relax=add_binding,
)
