"""Parallel regions: code between synchronisation points, and the values that are live across them (as in PoCL).

Region 0 starts at the kernel's entry, region n after synchronisation point n. The function of a region runs each work-item up
to the next synchronisation point. Values that are live across one are spilled to the worker's arena, laid out
[value][work-item].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from ...ir import ir
from ...ir.cfg import reverse_postorder
from ...records import dataclass
from .loop_bounds import polled_edges
from .segments import Graph, Segment, SyncPoint
from .shift_amounts import written_amount


def is_rematerializable(value: ir.Value) -> bool:
    """Returns True if each region computes `value` itself instead of spilling it: constants, arguments, memory objects."""
    return not isinstance(value, ir.Instr) or value.op == "alloca" or is_sampler(value)


def is_sampler(value: ir.Value) -> bool:
    return isinstance(value.type, ir.Sampler)


@dataclass(eq=False)
class ParallelRegion:
    """Segments reachable from one resume point without passing a synchronisation point, in reverse postorder.

    `polled` are the back edges with a watchdog poll. `live_in` are values of earlier regions that it reads or may compute
    again: what only lives through it stays where it was spilled. `defined` are the ids of the instructions that this region may
    execute.
    """

    number: int
    order: list[Segment]
    polled: set[tuple[Segment, Segment]]
    live_in: list[ir.Instr] = field(default_factory=list)
    defined: set[int] = field(default_factory=set)

    @property
    def redefined(self) -> list[ir.Instr]:
        """The live-in values that this region may compute again: they need a stack slot."""
        return [v for v in self.live_in if id(v) in self.defined]


class RegionPlan:
    """The regions of a kernel, and the values live into each. polls: its loops are watched, those aside that its text bounds."""

    def __init__(self, graph: Graph, *, polls: bool = True):
        self.graph, self._polls = graph, polls
        self._known = {s: _uses_and_definitions(s) for s in graph.segments} if graph.sync_points else {}
        self.live = _liveness(graph, self._known)
        self.regions = [self._region(0, graph.entry, [])]
        for sync in graph.sync_points:
            assert sync.resume is not None
            self.regions.append(self._region(sync.number, sync.resume, self.live[sync.resume]))

    def live_across_syncs(self) -> list[ir.Instr]:
        """Returns every value that is live across some synchronisation point, in a stable order."""
        seen: dict[int, ir.Instr] = {}
        for sync in self.graph.sync_points:
            seen.update((id(v), v) for v in self.live_across(sync))
        return list(seen.values())

    def live_across(self, sync: SyncPoint) -> list[ir.Instr]:
        """Returns the values that are live across `sync`, without the result of the synchronising call itself."""
        assert sync.resume is not None
        return [v for v in self.live[sync.resume] if v is not sync.instr]

    def _region(self, number: int, start: Segment, live: list[ir.Instr]) -> ParallelRegion:
        order = reverse_postorder(start)
        defined = {id(i) for s in order for i in s.instrs}
        used = {value for s in order if s in self._known for value in self._known[s][0]}
        live_in = [value for value in live if id(value) in used or id(value) in defined]
        return ParallelRegion(number, order, polled_edges(order) if self._polls else set(), live_in, defined)


def _uses(segment: Segment) -> list[ir.Value]:
    """Returns the operands that the segment reads, those of its synchronisation point, and the unmasked shift amounts that
    checks read. Operands of phis count as uses on the edges."""
    used = [v for i in segment.instrs if i.op != "phi" for v in i.operands]
    used += [v for i in segment.instrs if (v := written_amount(i)) is not None]
    return used + (segment.sync.instr.operands if segment.sync else [])


def _edge_uses(segment: Segment) -> list[ir.Value]:
    return [
        value
        for successor in segment.successors
        for phi in successor.instrs
        if phi.op == "phi"
        for value, block in zip(phi.operands, phi.blocks, strict=True)
        if block is segment.block
    ]


def _liveness(graph: Graph, known: Mapping[Segment, UsesAndDefinitions]) -> dict[Segment, list[ir.Instr]]:
    """Returns the values live into each segment (backward data flow), or {} if the kernel has no synchronisation point."""
    if not graph.sync_points:
        return {}
    live: dict[Segment, dict[int, ir.Instr]] = {s: {} for s in graph.segments}
    changed = True
    while changed:
        changed = False
        for segment in reversed(graph.segments):
            now = _live_in(segment, live, *known[segment])
            if len(now) != len(live[segment]):
                live[segment] = now
                changed = True
    order = _order(graph)
    return {s: sorted(values.values(), key=order) for s, values in live.items()}


UsesAndDefinitions = tuple[dict[int, ir.Instr], list[int]]


def _uses_and_definitions(segment: Segment) -> UsesAndDefinitions:
    """Returns the values that a segment uses, and the ids of those that it defines."""
    uses = [*_edge_uses(segment), *_uses(segment)]
    used = {id(value): value for value in uses if isinstance(value, ir.Instr) and not is_rematerializable(value)}
    return used, [id(instr) for instr in segment.instrs]


def _live_in(
    segment: Segment, live: dict[Segment, dict[int, ir.Instr]], used: dict[int, ir.Instr], defined: list[int]
) -> dict[int, ir.Instr]:
    now: dict[int, ir.Instr] = {}
    after = [segment.sync.resume] if segment.sync and segment.sync.resume else segment.successors
    for successor in after:
        now.update(live[successor])
    if segment.sync is not None:
        now.pop(id(segment.sync.instr), None)
    now.update(used)
    for instr in defined:
        now.pop(instr, None)
    return now


def _order(graph: Graph) -> Callable[[ir.Value], int]:
    every = (i for s in graph.segments for i in (*s.instrs, *([s.sync.instr] if s.sync else [])))
    number = {id(i): n for n, i in enumerate(every)}
    return lambda value: number[id(value)]
