"""The control flow graph of a kernel in segments: blocks cut at synchronisation points.

A segment ends in the terminator of its block, or at a synchronisation point (a barrier or a collective function), after which
its only successor begins.
"""

from __future__ import annotations

from dataclasses import field

from ...ir import ir
from ...records import dataclass


@dataclass(eq=False, slots=True)
class SyncPoint:
    """A call at which work-items wait for each other. `number` counts from 1; `scope` is "group" or "wave"; `resume` is the
    segment that follows."""

    number: int
    instr: ir.Instr
    scope: str
    resume: Segment | None = None


@dataclass(eq=False, slots=True)
class Segment:
    """Instructions [start, end) of a block. The synchronising call itself belongs to no segment."""

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
    """Returns the scope in which a call synchronises work-items: "group", "wave", or None if it does not."""

    def __call__(self, instr: ir.Instr) -> str | None:
        return None
