"""What straight-line and masked code share: edges between segments, their phis, and values live out of loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir
from ..analysis.segments import Segment
from ..analysis.shift_amounts import written_amount
from ..emit.check import NotVectorizable
from ..emit.emitter import complete_phis
from ..llvm.passes import MOST_VECTORS
from ..llvm.text import Phi
from . import recipes
from .structure import Edge, Level, Loop, Structure
from .values import LaneValues


@dataclass(eq=False)
class MaskedEdge:
    """A masked edge: the lanes that take it (None means all), and the parts it brings to each phi of the target. number: how
    many there were when it began to wait at its target."""

    edge: Edge
    mask: str | None
    values: dict[int, list[str]] = field(default_factory=dict)
    exit_values: dict[int, list[str]] = field(default_factory=dict)  # values that leave a loop otherwise than by a phi
    number: int = 0


JumpRecord = tuple[str, Edge, dict[int, list[str]]]
"""An emitted branch: the block it ends, the edge it stands for, and the parts of the target's phis."""


@dataclass(eq=False)
class PhiBlock:
    """A segment or latch whose phis lack edges: the parts of each phi."""

    phis: list[tuple[ir.Instr, list[Phi]]]
    edges: list[tuple[str, dict[int, list[str]]]] = field(default_factory=list)


class FlowState(LaneValues):
    """The edges and phis of one region while its code is emitted."""

    structure: Structure

    # Entry points of subclasses

    def emit_loop(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        """Emits a loop whose head was just opened as its preheader. Returns its masked exit edges, or None if it branched to
        its exits itself."""
        raise NotImplementedError

    def _reset_flow(self) -> None:
        """Clears the records of a region."""
        self._entries: dict[str, PhiBlock] = {}
        self._jumps: dict[str, list[JumpRecord]] = {}
        self._item_masks: dict[tuple[Level, object], str | None] = {}  # the mask of each masked item
        self._open_loops: list[Loop] = []
        self.nonempty_mask = self.mask  # lane 0 has work in every tile
        self._pending_edges: dict[object, list[MaskedEdge]] = {}
        self._edges_so_far = 0
        self._logs: list[dict[object, None]] = []  # where edges out of code that may be skipped wait, innermost last
        self._polled = self.region.polled
        self._live_out = self._find_live_out()
        self._known = {id(v): v for values in self._live_out.values() for v in values}
        self._exit_labels: list[tuple[Loop, str]] = []
        self._leaves: list[tuple[Segment, str | None]] = []

    # Blocks and phis

    def _label(self, segment: Segment) -> str:
        return segment.label

    @staticmethod
    def _phis_of(segment: Segment) -> list[ir.Instr]:
        return [] if segment.start else segment.block.phis

    def _is_varying_phi(self, phi: ir.Instr) -> bool:
        return self.shapes.of(phi).lane_offsets is None

    def _reserve_phis(self, label: str, phis: list[ir.Instr]) -> PhiBlock:
        """Reserves lines for phis, and binds the phis."""
        entry = PhiBlock([])
        for phi in phis:
            types = self.lane_types(phi, self._is_varying_phi(phi))
            entry.phis.append((phi, [self.body.open_phi(type) for type in types]))
        for phi, parts in entry.phis:
            self.bind(phi, [part.name for part in parts], self._is_varying_phi(phi))
        self._entries[label] = entry
        return entry

    def _write_phis(self) -> None:
        """Writes all reserved phis. Their edges are complete."""
        for label_of_entry, entry in self._entries.items():
            edges = entry.edges + [(label, values) for label, _, values in self._jumps.get(label_of_entry, [])]
            for phi, parts in entry.phis:
                complete_phis(parts, ((label, values[id(phi)]) for label, values in edges))

    def _emit_segment(self, segment: Segment) -> None:
        """Emits the instructions of a segment, without phis and terminator."""
        self.check_size()
        for instr in segment.instrs:
            if instr.op == "phi" or instr.op in ir.TERMINATORS:
                continue
            self.loc, self.current = instr.loc, instr
            recipes.emit_instruction(self, instr)

    def check_size(self) -> None:
        """Gives up vectors that become too much code."""
        if self.body.size > MOST_VECTORS:
            raise NotVectorizable(f"over {MOST_VECTORS} lines of vector code")

    def _phi_parts(self, edge: Edge) -> dict[int, list[str]]:
        """Returns the parts that an edge brings to the phis of its target."""
        found = {}
        for phi in self._phis_of(edge.target):
            found[id(phi)] = self.lane_parts(phi.incoming(edge.source.block), self._is_varying_phi(phi), phi)
        return found

    def _record_jump(self, label: str, edge: Edge, values: dict[int, list[str]]) -> None:
        """Records a branch from the current block to `label`."""
        self._jumps.setdefault(label, []).append((self.body.label, edge, values))

    # Values that leave loops

    def _find_live_out(self) -> dict[Loop, list[ir.Instr]]:
        """Returns the values of each loop that are used outside of it, other than by phis on its exit edges."""
        found: dict[Loop, dict[int, ir.Instr]] = {loop: {} for loop in self.structure.loops}
        for segment in self.structure.order:
            uses = [*segment.instrs, segment.sync.instr] if segment.sync else segment.instrs
            for user in uses:
                sources = user.blocks if user.op == "phi" else [None] * len(user.operands)
                for value, block in [*zip(user.operands, sources, strict=False), (written_amount(user), None)]:
                    self._add_live_out(value, segment, block, found)
            if segment.sync is not None:
                for value in self.plan.regions.live_across(segment.sync):
                    self._add_live_out(value, segment, None, found)
        return {loop: list(values.values()) for loop, values in found.items()}

    def _add_live_out(
        self, value: ir.Value | None, user: Segment, block: ir.Block | None, found: dict[Loop, dict[int, ir.Instr]]
    ) -> None:
        """Adds a value to the loops that compute it and do not hold its user; `block` is where it comes from if that is a phi."""
        home = self.structure.segment_of.get(id(value))
        loop = self.structure.innermost[home] if home is not None else None
        while loop is not None and user not in loop.body:
            if block is None or block not in loop.blocks:
                assert isinstance(value, ir.Instr)
                found[loop][id(value)] = value
            loop = loop.parent

    def _exit_values(self, edge: Edge) -> dict[int, list[str]]:
        """Returns, as vectors, the values that leave the divergent loops which an edge leaves."""
        found: dict[int, list[str]] = {}
        for loop in self._open_loops:
            if loop.divergent and edge.source in loop.body and edge.target not in loop.body:
                for value in self._live_out[loop]:
                    home = self.structure.segment_of[id(value)]
                    if id(value) not in found and self.structure.dominates(home, edge.source):
                        found[id(value)] = self.lane_parts(value, True)
        return found


def unused_constant(type: str) -> str:
    """Returns a constant for a value that is unknown here and never used."""
    known = {"ptr": "null", "float": "0.0", "double": "0.0", "half": "0xH0000", "i1": "false"}
    return known.get(type, "zeroinitializer" if type.startswith("<") else "0")
