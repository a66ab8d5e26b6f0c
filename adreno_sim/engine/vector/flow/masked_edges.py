"""Masked edges, which wait until the code that they lead to is emitted, and what lanes bring where several of them join."""

from __future__ import annotations

from dataclasses import field

from ....ir import ir
from ....records import dataclass
from ...analysis.segments import Segment
from ...emit.check import NotVectorizable
from ..emitter import VectorEmitter
from ..structure import Edge, Level, Node, VirtualNode
from .blocks import Blocks, PhiValues, phis_of
from .loop_values import LoopValues


@dataclass(eq=False)
class MaskedEdge:
    """A masked edge: the lanes that take it (None means all), and the parts it brings to each phi of the target. number: how
    many there were when it began to wait at its target."""

    edge: Edge
    mask: str | None
    values: PhiValues = field(default_factory=dict)
    exit_values: dict[int, list[str]] = field(default_factory=dict)  # values that leave a loop otherwise than by a phi
    number: int = 0


Place = tuple[Level, object]
"""Where edges wait: the segment that they lead to, or the end of a level."""


class MaskedEdges:
    """The masked edges of one region."""

    def __init__(self, e: VectorEmitter, blocks: Blocks, loop_values: LoopValues):
        self._e, self._blocks, self._loop_values = e, blocks, loop_values
        self._waiting: dict[Place, list[MaskedEdge]] = {}
        self._so_far = 0
        self._skippable: list[
            tuple[int, dict[Place, None]]
        ] = []  # code that may be skipped: first edge out of it, where they wait

    def make(self, edge: Edge, mask: str | None) -> MaskedEdge:
        """Returns the edge that lanes in `mask` take now."""
        return MaskedEdge(edge, mask, self._blocks.phi_values(edge), self._loop_values.leaving_by(edge))

    def add(self, level: Level, masked: MaskedEdge) -> None:
        """Lets an edge wait for its target at `level`."""
        node = level.node(masked.edge.target)
        place: Place = (level, node) if isinstance(node, VirtualNode) else (level, masked.edge.target)
        self._so_far += 1
        masked.number = self._so_far
        self._waiting.setdefault(place, []).append(masked)
        if self._skippable:
            self._skippable[-1][1][place] = None

    def take(self, level: Level, target: Node) -> list[MaskedEdge]:
        """Returns the edges that wait for a segment, or for the end of a level; they wait no longer."""
        return self._waiting.pop((level, target), [])

    # Code that may be skipped

    def enter_skippable(self) -> None:
        self._skippable.append((self._so_far + 1, {}))

    def leave_skippable(self) -> list[MaskedEdge]:
        """Returns the edges out of the code that was entered last; equal ones are returned once."""
        first, places = self._skippable.pop()
        left = [place for place in places if place in self._waiting]
        if self._skippable:
            self._skippable[-1][1].update(dict.fromkeys(left))
        return [masked for place in left for masked in self._unite_alike(self._waiting[place], first)]

    def _unite_alike(self, waiting: list[MaskedEdge], first: int) -> list[MaskedEdge]:
        """Makes one edge of those that wait at one place since number `first`, lead to one target and bring values of the same
        loops, and returns what is left of them. So code that is nested deeply does not hand each of them on from level to level.

        Edges out of a loop wait together, whatever their targets are.
        """
        start = len(waiting)
        while start and waiting[start - 1].number >= first:  # they wait in the order of their numbers
            start -= 1
        alike: dict[tuple[Segment, frozenset[int]], list[MaskedEdge]] = {}
        for masked in waiting[start:]:
            alike.setdefault((masked.edge.target, frozenset(masked.exit_values)), []).append(masked)
        for edges in alike.values():
            if len(edges) > 1:
                self._unite(edges)
        kept = [edges[0] for edges in alike.values()]
        waiting[start:] = kept
        return kept

    def _unite(self, edges: list[MaskedEdge]) -> None:
        """Makes the first of several edges to one place, with values of the same loops, stand for them all."""
        first = edges[0]
        values = self.merge_phis(first.edge.target, edges)
        first.exit_values = {number: self.merge_exit_value(number, edges) for number in first.exit_values}
        first.values = values
        first.mask = self.union_mask(edges)

    # Where edges join

    def union_mask(self, arriving: list[MaskedEdge]) -> str | None:
        """Returns the mask of the lanes that arrive by any of the edges; None means all."""
        mask = arriving[0].mask
        for masked in arriving[1:]:
            if mask is None or masked.mask is None:
                return None
            mask = self._e.body.op(f"or <{self._e.count} x i1> {mask}, {masked.mask}")
        return mask

    def merge_phis(self, target: Segment, arriving: list[MaskedEdge]) -> PhiValues:
        """Returns the parts of each phi of `target`: each lane has the value of its edge."""
        return {id(phi): self._merge_phi(phi, arriving) for phi in phis_of(target)}

    def _merge_phi(self, phi: ir.Instr, arriving: list[MaskedEdge]) -> list[str]:
        parts = arriving[-1].values[id(phi)]
        if len(arriving) == 1:
            return parts
        if not self._blocks.is_varying(phi):
            sources = [phi.incoming(masked.edge.source.block) for masked in arriving]
            if any(s is not sources[0] for s in sources):
                raise NotVectorizable("a value that differs between lanes unforeseen")
            return self._e.lanes.parts(sources[0], False)
        types = self._e.lanes.types(phi, True)
        for masked in reversed(arriving[:-1]):
            new = masked.values[id(phi)]
            if new != parts:
                parts = self._blend(masked.mask, types, new, parts)
        return parts

    def merge_exit_value(self, number: int, arriving: list[MaskedEdge]) -> list[str]:
        """Returns the parts of a value of a divergent loop where edges join that all bring it."""
        parts, types = arriving[-1].exit_values[number], self._e.lanes.types(self._loop_values.value(number), True)
        for masked in reversed(arriving[:-1]):
            parts = self._blend(masked.mask, types, masked.exit_values[number], parts)
        return parts

    def _blend(self, mask: str | None, types: list[str], ours: list[str], others: list[str]) -> list[str]:
        """Returns parts that are `ours` in the lanes of `mask`."""
        flags = f"<{self._e.count} x i1>"
        return [
            a if mask is None or a == b else self._e.body.op(f"select {flags} {mask}, {type} {a}, {type} {b}")
            for type, a, b in zip(types, ours, others, strict=True)
        ]
