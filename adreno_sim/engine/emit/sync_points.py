"""The built-ins at which work-items synchronise, and their scope."""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import BUILTINS, find_builtin
from ...ir.unsupported import unsupported
from ..analysis.segments import ScopeOf
from .builtin_registry import builtin
from .emitter import Emitter, instruction


class Scopes(ScopeOf):
    """Returns the scope of a call that is a synchronisation point: "group" or "wave"; None for other calls."""

    def __call__(self, instr: ir.Instr) -> str | None:
        assert instr.callee is not None
        return find_builtin(instr.callee.name).sync


@instruction("fence")
@builtin("mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence")
def _fence(e: Emitter, instr: ir.Instr) -> None:
    e.body.do("fence seq_cst")


@builtin(*(name for name, row in BUILTINS.items() if row.sync))
def _refuse_sync(e: Emitter, instr: ir.Instr) -> None:
    """Is reached only where no region can be cut, as inside a library function."""
    raise unsupported("a place where work-items meet, here", instr.loc)
