"""The built-ins at which work-items synchronise, and their scope."""

from __future__ import annotations

import re

from ...ir import ir
from ...ir.unsupported import unsupported
from ..analysis.segments import ScopeOf
from .builtin_registry import builtin, builtin_family
from .emitter import Emitter, instruction

_GROUP = re.compile(r"barrier|work_group_barrier|wait_group_events|work_group_(all|any|broadcast|(reduce|scan_\w+)_\w+)")
_WAVE = re.compile(
    r"sub_group_barrier|sub_group_(all|any|elect|ballot|broadcast|broadcast_first|shuffle\w*|(reduce|scan_\w+)_\w+)"
    r"|intel_sub_group_shuffle\w*|qcom_sub_group_shuffle_(up|down|xor)"
)
WITHOUT_RESULT = {"barrier", "work_group_barrier", "wait_group_events", "sub_group_barrier"}
"""Synchronisation points without a result: nothing is combined."""


class Scopes(ScopeOf):
    """Returns the scope of a call that is a synchronisation point: "group" or "wave"; None for other calls."""

    def __call__(self, instr: ir.Instr) -> str | None:
        assert instr.callee is not None
        if _GROUP.fullmatch(instr.callee.name):
            return "group"
        return "wave" if _WAVE.fullmatch(instr.callee.name) else None


def is_sync(name: str) -> bool:
    """Returns whether the built-in `name` is a synchronisation point."""
    return bool(_GROUP.fullmatch(name) or _WAVE.fullmatch(name))


@instruction("fence")
@builtin("mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence")
def _fence(e: Emitter, instr: ir.Instr) -> None:
    e.body.do("fence seq_cst")


@builtin_family(f"(?:{_GROUP.pattern}|{_WAVE.pattern})")
def _refuse_sync(e: Emitter, instr: ir.Instr) -> None:
    """Is reached only where no region can be cut, as inside a library function."""
    raise unsupported("a place where work-items meet, here", instr.loc)
