"""The control flow of a kernel in segments: blocks cut where a work-item may have to wait for others.

A segment ends in its block's terminator, or at a split: a barrier or a collective function, after which its only
successor begins. Also: loops that need no watchdog, and which values live across which split.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir


@dataclass(eq=False, slots=True)
class SyncPoint:
    """A place where work-items meet. `number` counts from 1; `scope` is "group" or "wave"; `resume` follows it."""

    number: int
    instr: ir.Instr
    scope: str
    resume: Segment | None = None


@dataclass(eq=False, slots=True)
class Segment:
    """Instructions [start, end) of a block. The split instruction itself is in none."""

    number: int
    block: ir.Block
    start: int
    end: int
    sync: SyncPoint | None = None
    successors: list[Segment] = field(default_factory=list)

    @property
    def instrs(self) -> list[ir.Instr]:
        return self.block.instrs[self.start : self.end]

    @property
    def label(self) -> str:
        return f"s{self.number}"


class Graph:
    """All segments of a function; `entry` is the first."""

    def __init__(self, function: ir.Function, scope_of: ScopeOf):
        self.segments: list[Segment] = []
        self.sync_points: list[SyncPoint] = []
        self.first: dict[int, Segment] = {}
        for block in function.blocks:
            self._cut(block, scope_of)
        for segment in self.segments:
            if segment.sync is None:
                segment.successors = [self.first[id(b)] for b in segment.block.successors]
        self.entry = self.segments[0]

    def _cut(self, block: ir.Block, scope_of: ScopeOf) -> None:
        start, waiting = 0, None
        for at, instr in enumerate(block.instrs):
            scope = scope_of(instr) if instr.op == "call" else None
            if scope is None:
                continue
            sync = SyncPoint(len(self.sync_points) + 1, instr, scope)
            self.sync_points.append(sync)
            self._add(block, start, at, sync, waiting)
            start, waiting = at + 1, sync
        self._add(block, start, len(block.instrs), None, waiting)

    def _add(self, block: ir.Block, start: int, end: int, sync: SyncPoint | None, after: SyncPoint | None) -> None:
        segment = Segment(len(self.segments), block, start, end, sync)
        self.segments.append(segment)
        if after is None:
            self.first[id(block)] = segment
        else:
            after.resume = segment


class ScopeOf:
    """Says of a call whether work-items meet there: "group", "wave" or None."""

    def __call__(self, instr: ir.Instr) -> str | None:
        return None


def back_edges(order: list[Segment]) -> set[tuple[Segment, Segment]]:
    """Edges that close a cycle: each cycle of the segments in `order` holds at least one of them."""
    position = {s: i for i, s in enumerate(order)}
    return {(s, t) for s in order for t in s.successors if position[t] <= position[s]}
