"""What the regions of a counted kernel share: its loops, its count table, and where work-items keep the iterations of loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ...ir import ir
from ...records import dataclass
from ..abi.count_table import CountedSite, CountTable
from ..analysis.segments import Segment
from ..analysis.slow_builtins import count_slow
from ..emit.emitter import Emitter
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import RegionEmitter
from .chain_spread import spread_chains
from .loops import LoopNest, find_loops
from .operations import operations_of

STATE_BYTES = 16
"""Of each loop, for each work-item: the iteration and its key."""


@dataclass(kw_only=True)
class CountingPlan(CheckPlan):
    """heads: the segment that begins at an instruction, by its id; last_segment: the number of the one that ends in it. state_at:
    arena offset of the states of loops, of all work-items one after the other. callbacks: those of one region."""

    callbacks: Callable[[RegionEmitter, CountingPlan], Instrumentation]
    table: CountTable = field(default_factory=CountTable)
    loops: LoopNest = field(default_factory=LoopNest)
    heads: dict[int, Segment] = field(default_factory=dict)
    last_segment: dict[int, int] = field(default_factory=dict)
    block_of: dict[int, ir.Block] = field(default_factory=dict)
    state_at: int = 0
    _places: dict[object, int] = field(default_factory=dict)

    @property
    def item_bytes(self) -> int:
        """The bytes of the states of one work-item."""
        return self.loops.count * STATE_BYTES

    def place(self, instr: ir.Instr | None, role: object, *places: CountedSite) -> int:
        """Returns the word of the record of a place, or of the first of several, which are added once for an instruction."""
        key = id(instr), role
        if key not in self._places:
            self._places[key] = self.table.add(*places)
        return self._places[key]

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return self.callbacks(e, self)


def plan_counting(plan: KernelPlan, callbacks: Callable[[RegionEmitter, CountingPlan], Instrumentation]) -> CountingPlan:
    """Returns the plan for counting a kernel in scalar code."""
    kernel, segments = plan.unit.kernel, plan.regions.graph.segments
    own = CountingPlan("counters", callbacks=callbacks, loops=find_loops(kernel))
    chains = spread_chains(kernel, segments, own.loops.innermost)
    for segment in segments:
        executed = [*segment.instrs, *([segment.sync.instr] if segment.sync is not None else [])]
        own.table.operations.append(_add_operations(executed))
        own.table.chains.append(chains.operations.get(segment.number, 0))
        own.table.waits.append(chains.reads.get(segment.number, 0))
        own.table.slow.append(sum(map(count_slow, executed)))
        first = next((instr for instr in executed if instr.op != "phi"), None)
        own.heads[id(first)] = segment
        own.last_segment[id(executed[-1])] = segment.number
    own.block_of = {id(instr): block for block in kernel.blocks for instr in block.instrs}
    own.state_at = plan.unit.reserve_arena(plan.unit.spec.items * own.item_bytes)
    return own


def _add_operations(instrs: list[ir.Instr]) -> dict[str, int]:
    total: dict[str, int] = {}
    for instr in instrs:
        for type, count in operations_of(instr).items():
            total[type] = total.get(type, 0) + count
    return total
