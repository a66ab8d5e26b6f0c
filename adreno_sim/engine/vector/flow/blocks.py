"""Blocks that branches lead to, and their phis: the edges of a block are recorded, and its phis are completed at the end."""

from __future__ import annotations

from dataclasses import field

from ....ir import ir
from ....records import dataclass
from ...analysis.segments import Segment
from ...emit.segment_flow import complete_phis
from ...llvm.text import Phi
from ..emitter import VectorEmitter
from ..structure import Edge

PhiValues = dict[int, list[str]]
"""What an edge brings to the phis of its target: the parts for each, by its id."""


@dataclass(frozen=True)
class Jump:
    """An emitted branch: the label of the block that it ends, the edge it stands for, and what it brings."""

    label: str
    edge: Edge
    values: PhiValues


@dataclass(eq=False)
class PhiBlock:
    """A segment or latch whose phis lack edges: the parts of each phi."""

    phis: list[tuple[ir.Instr, list[Phi]]] = field(default_factory=list)
    edges: list[tuple[str, PhiValues]] = field(default_factory=list)


def phis_of(segment: Segment) -> list[ir.Instr]:
    return [] if segment.start else segment.block.phis


class Blocks:
    """The blocks of one region, by their labels."""

    def __init__(self, e: VectorEmitter):
        self._e = e
        self._open: dict[str, PhiBlock] = {}
        self._jumps: dict[str, list[Jump]] = {}

    def is_varying(self, phi: ir.Instr) -> bool:
        """Returns whether a phi is one of vectors."""
        return self._e.shapes.of(phi).lane_offsets is None

    def types(self, phi: ir.Instr) -> list[str]:
        """Returns the LLVM types of the parts of a phi."""
        return self._e.lanes.types(phi, self.is_varying(phi))

    def open(self, label: str, phis: list[ir.Instr]) -> PhiBlock:
        """Starts a block, and binds its phis."""
        self._e.body.block(label)
        return self.reserve(label, phis)

    def reserve(self, label: str, phis: list[ir.Instr]) -> PhiBlock:
        """Reserves lines for phis at the start of the block `label`, and binds the phis."""
        block = PhiBlock([(phi, [self._e.body.open_phi(type) for type in self.types(phi)]) for phi in phis])
        for phi, parts in block.phis:
            self._e.lanes.bind(phi, [part.name for part in parts], self.is_varying(phi))
        self._open[label] = block
        return block

    def find(self, label: str) -> PhiBlock:
        return self._open[label]

    def record_jump(self, label: str, edge: Edge, values: PhiValues) -> None:
        """Records a branch from the current block to `label`."""
        self._jumps.setdefault(label, []).append(Jump(self._e.body.label, edge, values))

    def jumps_to(self, label: str) -> list[Jump]:
        return self._jumps.get(label, [])

    def phi_values(self, edge: Edge) -> PhiValues:
        """Returns what an edge brings to the phis of its target."""
        source, e = edge.source.block, self._e
        return {id(phi): e.lanes.parts(phi.incoming(source), self.is_varying(phi), phi) for phi in phis_of(edge.target)}

    def complete(self) -> None:
        """Completes all phis, whose edges are known by now."""
        for label, block in self._open.items():
            edges = block.edges + [(jump.label, jump.values) for jump in self.jumps_to(label)]
            for phi, parts in block.phis:
                complete_phis(parts, ((source, values[id(phi)]) for source, values in edges))


def unused_constant(type: str) -> str:
    """Returns a constant for a value that is unknown here and never used."""
    known = {"ptr": "null", "float": "0.0", "double": "0.0", "half": "0xH0000", "i1": "false"}
    return known.get(type, "zeroinitializer" if type.startswith("<") else "0")
