"""The built-ins at which work-items synchronise, their scope, and which memory they order."""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import BUILTINS, builtin_of, find_builtin
from ...ir.memory_ops import fence_flags
from ...ir.unsupported import unsupported
from ..abi.kernel_shape import (
    FENCES_BY_FLAGS,
    FENCES_GLOBAL,
    FENCES_IMAGES,
    FENCES_LOCAL,
    GLOBAL_FLAG,
    IMAGE_FLAG,
    LOCAL_FLAG,
    OF_SUBGROUP,
)
from ..analysis.segments import ScopeOf, SyncPoint
from .builtin_registry import builtin
from .emitter import Emitter, instruction


class Scopes(ScopeOf):
    """Returns the scope of a call that is a synchronisation point: "group" or "wave"; None for other calls."""

    def __call__(self, instr: ir.Instr) -> str | None:
        assert instr.callee is not None
        return find_builtin(instr.callee.name).sync


def describe_sync(sync: SyncPoint) -> int:
    """Returns the bits of a synchronisation point (`abi.kernel_shape`)."""
    scope = OF_SUBGROUP if sync.scope == "wave" else 0
    flags = fence_flags(sync.instr)
    if flags is None:
        return scope | FENCES_LOCAL | FENCES_GLOBAL | FENCES_IMAGES
    if not isinstance(flags, ir.Const) or not isinstance(flags.value, int):
        return scope | FENCES_BY_FLAGS
    fences = ((LOCAL_FLAG, FENCES_LOCAL), (GLOBAL_FLAG, FENCES_GLOBAL), (IMAGE_FLAG, FENCES_IMAGES))
    return scope | sum(fence for flag, fence in fences if flags.value & flag)


def varying_fence_flags(instr: ir.Instr) -> ir.Value | None:
    """Returns the flags of a synchronisation point that only a run knows."""
    flags = fence_flags(instr) if builtin_of(instr).sync else None
    return None if isinstance(flags, ir.Const) and isinstance(flags.value, int) else flags


@instruction("fence")
@builtin("mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence")
def _fence(e: Emitter, instr: ir.Instr) -> None:
    e.body.do("fence seq_cst")


@builtin(*(name for name, row in BUILTINS.items() if row.sync))
def _refuse_sync(e: Emitter, instr: ir.Instr) -> None:
    """Is reached only where no region can be cut, as inside a library function."""
    raise unsupported("a place where work-items meet, here", instr.loc)
