"""What straight-line and masked code share: the edges between segments, their phis, and values that leave loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir
from ..analysis.segments import Segment
from ..analysis.shift_amounts import written_amount
from .structure import Edge, Level, Loop, Structure
from .values import LaneValues


@dataclass(eq=False)
class MaskedEdge:
    """A masked edge: the lanes that take it (None: all), and the parts each phi of the target gets."""

    edge: Edge
    mask: str | None
    values: dict[int, list[str]] = field(default_factory=dict)
    exit_values: dict[int, list[str]] = field(default_factory=dict)  # values that leave a loop otherwise than by a phi


JumpRecord = tuple[str, Edge, dict[int, list[str]]]
"""A real jump: the block it ends, the edge it stands for, and the parts that the target's phis get."""


@dataclass(eq=False)
class PhiBlock:
    """A segment or latch whose phis wait for their edges: per phi the lines, names and types of its parts."""

    phis: list[tuple[ir.Instr, list[int], list[str], list[str]]]
    edges: list[tuple[str, dict[int, list[str]]]] = field(default_factory=list)


class FlowState(LaneValues):
    """The edges and phis of one region while its code is written."""

    structure: Structure

    # Entry points of subclasses

    def emit_instr(self, instr: ir.Instr) -> None:
        raise NotImplementedError

    def needs_active_lane(self, instr: ir.Instr) -> bool:
        """Whether an instruction must not run, or had better not, when no lane is at work."""
        raise NotImplementedError

    def emit_loop(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        """A loop whose head has just been opened as the place before it; masked edges out of it, None if it jumped on itself."""
        raise NotImplementedError

    def should_unroll(self, loop: Loop, lines: list[str]) -> bool:
        """Whether a loop that all lanes run alike, and that takes these lines, is better written out."""
        raise NotImplementedError

    def _reset_flow(self) -> None:
        """Clear what the emission of one region records."""
        self._entries: dict[str, PhiBlock] = {}
        self._jumps: dict[str, list[JumpRecord]] = {}
        self._item_masks: dict[tuple[Level, object], str | None] = {}  # the mask of each masked item
        self._open_loops: list[Loop] = []
        self.nonempty_mask = self.mask  # lane 0 has work in every tile
        self._pending_edges: dict[object, list[MaskedEdge]] = {}
        self._logs: list[list[MaskedEdge]] = []
        self._polled = self.region.polled
        self._live_out: dict[Loop, list[ir.Instr]] = {loop: self._find_live_out(loop) for loop in self.structure.loops}
        self._known = {id(v): v for values in self._live_out.values() for v in values}
        self._exit_labels: list[tuple[Loop, str]] = []
        self._leaves: list[tuple[Segment, str | None]] = []

    # Blocks and phis

    def _label(self, segment: Segment) -> str:
        return segment.label

    @staticmethod
    def _phis_of(segment: Segment) -> list[ir.Instr]:
        if segment.start:
            return []
        found = []
        for instr in segment.instrs:
            if instr.op != "phi":
                break
            found.append(instr)
        return found

    def _is_varying_phi(self, phi: ir.Instr) -> bool:
        return self.shapes.of(phi).lane_offsets is None

    def _reserve_phis(self, label: str, phis: list[ir.Instr]) -> PhiBlock:
        """Reserve the lines of phis, and bind them."""
        entry, t = PhiBlock([]), self.body
        for phi in phis:
            types = self.lane_types(phi, self._is_varying_phi(phi))
            lines, names = [], []
            for _ in types:
                lines.append(len(t.lines))
                names.append(f"%t{next(t.names)}")
                t.lines.append("")
            entry.phis.append((phi, lines, names, types))
        for phi, _, names, _ in entry.phis:
            self.bind(phi, names, self._is_varying_phi(phi))
        self._entries[label] = entry
        return entry

    def _write_phis(self) -> None:
        """Write the phis, all edges being known."""
        for label_of_entry, entry in self._entries.items():
            edges = entry.edges + [(label, values) for label, _, values in self._jumps.get(label_of_entry, [])]
            for phi, lines, names, types in entry.phis:
                for part, (line, name, type) in enumerate(zip(lines, names, types, strict=True)):
                    pairs = ", ".join(f"[ {values[id(phi)][part]}, %{label} ]" for label, values in edges)
                    self.body.lines[line] = f"  {name} = phi {type} {pairs}"

    def _emit_segment(self, segment: Segment) -> None:
        """Instructions but phis and the terminator."""
        for instr in segment.instrs:
            if instr.op in ("phi", "br", "condbr", "switch", "ret", "unreachable"):
                continue
            self.loc, self.current = instr.loc, instr
            self.emit_instr(instr)

    def _phi_parts(self, edge: Edge) -> dict[int, list[str]]:
        """What the phis of the target get over an edge."""
        found = {}
        for phi in self._phis_of(edge.target):
            value = phi.operands[next(i for i, b in enumerate(phi.blocks) if b is edge.source.block)]
            found[id(phi)] = self.lane_parts(value, self._is_varying_phi(phi), phi)
        return found

    def _record_jump(self, label: str, edge: Edge, values: dict[int, list[str]]) -> None:
        """A jump from here to `label`."""
        self._jumps.setdefault(label, []).append((self.body.label, edge, values))

    # Values that leave loops

    def _find_live_out(self, loop: Loop) -> list[ir.Instr]:
        """Values of a loop that are used outside otherwise than by phis on its own edges."""
        own = {id(i): i for s in loop.body for i in s.instrs}
        blocks = {id(s.block) for s in loop.body}
        found: dict[int, ir.Instr] = {}
        for segment in self.structure.order:
            if segment in loop.body:
                continue
            uses = [*segment.instrs, segment.sync.instr] if segment.sync else segment.instrs
            for user in uses:
                sources = user.blocks if user.op == "phi" else [None] * len(user.operands)
                for value, block in [*zip(user.operands, sources, strict=False), (written_amount(user), None)]:
                    if id(value) in own and (block is None or id(block) not in blocks):
                        found[id(value)] = own[id(value)]
            if segment.sync is not None:
                for value in self.plan.regions.live_across(segment.sync):
                    if id(value) in own:
                        found[id(value)] = value
        return list(found.values())

    def _exit_values(self, edge: Edge) -> dict[int, list[str]]:
        """Values that leave the divergent loops which an edge leaves, as vectors."""
        found: dict[int, list[str]] = {}
        for loop in self._open_loops:
            if loop.divergent and edge.source in loop.body and edge.target not in loop.body:
                for value in self._live_out[loop]:
                    home = self.structure.segment_of[id(value)]
                    if id(value) not in found and self.structure.dominates(home, edge.source):
                        found[id(value)] = self.lane_parts(value, True)
        return found


def unused_constant(type: str) -> str:
    """A constant for where a value is not known, and not used."""
    known = {"ptr": "null", "float": "0.0", "double": "0.0", "half": "0xH0000", "i1": "false"}
    return known.get(type, "zeroinitializer" if type.startswith("<") else "0")
