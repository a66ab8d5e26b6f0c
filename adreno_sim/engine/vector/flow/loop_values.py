"""Values of loops that are used behind them otherwise than by a phi on an exit edge."""

from __future__ import annotations

from ....ir import ir
from ...analysis.segments import Segment
from ...analysis.shift_amounts import written_amount
from ..emitter import VectorEmitter
from ..structure import Edge, Loop, Structure


class LoopValues:
    """What leaves each loop of a region, and which loops are being emitted (`open`, outer ones first)."""

    def __init__(self, e: VectorEmitter, structure: Structure):
        self._e, self._structure = e, structure
        self.open: list[Loop] = []
        self._found: dict[Loop, dict[int, ir.Instr]] = {loop: {} for loop in structure.loops}
        for segment in structure.order:
            self._add_uses(segment)
        self._by_id = {number: value for values in self._found.values() for number, value in values.items()}

    def of(self, loop: Loop) -> list[ir.Instr]:
        """Returns the values of a loop that are used outside of it."""
        return list(self._found[loop].values())

    def value(self, number: int) -> ir.Instr:
        """Returns the value with an id."""
        return self._by_id[number]

    def leaving_by(self, edge: Edge) -> dict[int, list[str]]:
        """Returns, as vectors, the values that leave the divergent loops which an edge leaves."""
        found: dict[int, list[str]] = {}
        for loop in self.open:
            if loop.divergent and edge.source in loop.body and edge.target not in loop.body:
                for value in self.of(loop):
                    home = self._structure.segment_of[id(value)]
                    if id(value) not in found and self._structure.dominates(home, edge.source):
                        found[id(value)] = self._e.lanes.parts(value, True)
        return found

    def _add_uses(self, segment: Segment) -> None:
        uses = [*segment.instrs, segment.sync.instr] if segment.sync else segment.instrs
        for user in uses:
            sources = user.blocks if user.op == "phi" else [None] * len(user.operands)
            for value, block in [*zip(user.operands, sources, strict=False), (written_amount(user), None)]:
                self._add(value, segment, block)
        if segment.sync is not None:
            for value in self._e.plan.regions.live_across(segment.sync):
                self._add(value, segment, None)

    def _add(self, value: ir.Value | None, user: Segment, block: ir.Block | None) -> None:
        """Adds a value to the loops that compute it and do not hold its user; `block` is where it comes from if that is a phi."""
        home = self._structure.segment_of.get(id(value))
        loop = self._structure.innermost[home] if home is not None else None
        while loop is not None and user not in loop.body:
            if block is None or block not in loop.blocks:
                assert isinstance(value, ir.Instr)
                self._found[loop][id(value)] = value
            loop = loop.parent
