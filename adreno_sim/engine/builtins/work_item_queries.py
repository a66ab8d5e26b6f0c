"""Work-item queries: get_global_id and similar functions."""

from __future__ import annotations

from ...ir import ir
from ...ir.unsupported import unsupported
from ..emit.builtin_registry import builtin_family
from ..emit.emitter import Emitter
from ..emit.region import RegionEmitter
from ..emit.work_items import emit_query


@builtin_family(
    r"get_(global_id|local_id|group_id|global_size|local_size|num_groups|enqueued_local_size|global_offset|work_dim"
    r"|local_linear_id|global_linear_id|(max_)?sub_group_size|(enqueued_)?num_sub_groups|sub_group_id|sub_group_local_id)"
)
def _query(e: Emitter, instr: ir.Instr) -> None:
    if not isinstance(e, RegionEmitter) or not emit_query(e, instr):
        raise unsupported(f"{instr.callee.name if instr.callee else 'call'} here", instr.loc)
