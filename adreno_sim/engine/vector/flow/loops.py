"""Loops in vectors: a uniform loop stays a loop; a divergent loop runs until no lane is left in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....ir import ir
from ...emit.check import NotVectorizable
from ...llvm import vector_text as vt
from ...llvm.text import Phi
from ..structure import END, LATCH, Edge, Level, Loop
from . import unroll
from .blocks import Jump, phis_of, unused_constant
from .masked_edges import MaskedEdge

if TYPE_CHECKING:
    from .region import RegionFlow


class LoopFlow:
    """Emits the loops of a region."""

    def __init__(self, flow: RegionFlow):
        self._flow, self._e, self._blocks, self._edges, self._values = flow, flow.e, flow.blocks, flow.edges, flow.loop_values
        self._structure = flow.structure
        self._exits: list[tuple[Loop, str]] = []  # uniform loops in masked code: the label where all their ways out lead

    def exit_label(self, edge: Edge) -> str | None:
        """Returns where an edge leads that leaves a uniform loop in masked code; None for others."""
        for loop, label in reversed(self._exits):
            if edge.source in loop.body and edge.target not in loop.body:
                return label
        return None

    def emit(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        """Emits a loop whose head was just opened as its preheader. Returns its masked exit edges, or None if it branched to
        its exits itself."""
        if loop.divergent:
            return self._emit_divergent(loop)
        return self._emit_uniform(loop, linear)

    def _enter_head(self, loop: Loop) -> str:
        """Ends the preheader and starts the head of a loop."""
        t, head = self._e.body, loop.head
        values = {id(phi): self._e.lanes.parts(phi, self._blocks.is_varying(phi)) for phi in phis_of(head)}
        before = t.label
        t.jump(head.label + ".head")
        t.block(head.label + ".head")
        entry = self._blocks.reserve(head.label + ".head", phis_of(head))
        entry.edges.append((before, values))
        return before

    def _emit_uniform(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        t, level = self._e.body, self._structure.levels[loop]
        head = loop.head
        self._enter_head(loop)
        start = t.mark()
        out = head.label + ".out"
        if linear:
            self._exits.append((loop, out))
        self._values.open.append(loop)
        self._flow.emit_level(level, is_open=True)
        t.block(head.label + ".latch")
        self._emit_latch(loop)
        walked = self._e.columns.rounds(loop)
        rounds = unroll.choose_rounds(loop, self._structure, self._e.privates, t.lines_from(start), walked)
        t.jump(head.label + ".head", self._e.unit.unrolled_loop(rounds))
        self._values.open.pop()
        if not linear:
            return None
        self._exits.pop()
        t.block(out)
        return self._collect_exits(loop, self._blocks.jumps_to(out))

    def _emit_latch(self, loop: Loop) -> None:
        """Emits the block of the back edge, which merges the ways back and polls the stop flag."""
        t, head = self._e.body, loop.head
        label = head.label + ".latch"
        phis, jumps = phis_of(head), self._blocks.jumps_to(label)
        if phis and not jumps:
            raise NotVectorizable("a loop that lanes go round by masked ways alone")
        names = {}
        for phi in phis:
            types = self._blocks.types(phi)
            names[id(phi)] = [self._plain_phi(type, jumps, id(phi), part) for part, type in enumerate(types)]
        self._poll(loop)
        self._blocks.find(head.label + ".head").edges.append((t.label, names))

    def _plain_phi(self, type: str, jumps: list[Jump], number: int, part: int) -> str:
        pairs = ", ".join(f"[ {jump.values[number][part]}, %{jump.label} ]" for jump in jumps)
        return self._e.body.op(f"phi {type} {pairs}")

    def _collect_exits(self, loop: Loop, jumps: list[Jump]) -> list[MaskedEdge]:
        """Returns masked edges for the exits of a uniform loop in masked code."""
        t = self._e.body
        if len(jumps) == 1:
            only = jumps[0]
            return [MaskedEdge(only.edge, self._e.active.mask, only.values, self._values.leaving_by(only.edge))]
        labels = [jump.label for jump in jumps]
        result = []
        lanes = f"<{self._e.count} x i1>"
        here = vt.text_of(self._e.active.mask)
        for jump in jumps:
            own = jump.label
            pairs = ", ".join(f"[ {here if one == own else 'zeroinitializer'}, %{one} ]" for one in labels)
            mask = t.op(f"phi {lanes} {pairs}")
            result.append(MaskedEdge(jump.edge, mask))
            phis = {id(phi): phi for phi in phis_of(jump.edge.target)}
            for number, parts in jump.values.items():
                result[-1].values[number] = self._phi_from(own, labels, parts, self._blocks.types(phis[number]))
        for value in self._values.of(loop):
            self._rebind(value, jumps)
        for masked in result:
            masked.exit_values = self._values.leaving_by(masked.edge)
        return result

    def _phi_from(self, own: str, labels: list[str], parts: list[str], types: list[str]) -> list[str]:
        done = []
        for part, type in zip(parts, types, strict=True):
            nothing = unused_constant(type)
            pairs = ", ".join(f"[ {part if one == own else nothing}, %{one} ]" for one in labels)
            done.append(self._e.body.op(f"phi {type} {pairs}"))
        return done

    def _rebind(self, value: ir.Instr, jumps: list[Jump]) -> None:
        """Rebinds a value used behind a loop with several exits. It is known only on exits that its definition dominates."""
        e, varying = self._e, self._e.lanes.varies(value)
        if id(value) in e.slots:
            return
        types, parts = e.lanes.types(value, varying), e.lanes.known_parts(value, varying)
        home = self._structure.segment_of[id(value)]
        known = [self._structure.dominates(home, jump.edge.source) for jump in jumps]
        if all(known):
            return
        fresh = []
        for part, type in zip(parts, types, strict=True):
            nothing = unused_constant(type)
            sources = zip(known, jumps, strict=True)
            pairs = ", ".join(f"[ {part if is_known else nothing}, %{jump.label} ]" for is_known, jump in sources)
            fresh.append(e.body.op(f"phi {type} {pairs}"))
        e.lanes.bind(value, fresh, varying)

    def _emit_divergent(self, loop: Loop) -> list[MaskedEdge]:
        e, t, level, head = self._e, self._e.body, self._structure.levels[loop], loop.head
        entered = e.active.mask
        if any(id(phi) in e.slots for phi in phis_of(head)):
            raise NotVectorizable("a divergent loop around values that are kept across a barrier")
        before = self._enter_head(loop)
        active, room = t.open_phi(f"<{e.count} x i1>"), t.make_room_for_phis()
        self._values.open.append(loop)
        self._flow.masked.note_mask(level, level.entry, active.name)
        with e.active.under(active.name), e.active.knowing_some(active.name):
            self._emit_head(level)
            self._flow.masked.emit_items(level, level.children(level.entry))
        leaving = self._edges.take(level, END)
        if not leaving:
            raise NotVectorizable("a loop without end")
        sums = [_ExitSum(self._flow, masked, room, before, single=len(leaving) == 1) for masked in leaving]
        back = self._edges.take(level, LATCH)
        if not back:
            raise NotVectorizable("a loop that is run once")
        again = self._edges.union_mask(back)
        assert again is not None
        values = self._edges.merge_phis(head, back)
        self._poll(loop)
        end = t.label
        more, out = vt.any_of(t, again, e.count), head.label + ".out"
        self._blocks.find(head.label + ".head").edges.append((end, values))
        active.add((vt.text_of(entered), before), (again, end))
        t.branch(more, head.label + ".head", out)
        t.block(out)
        for total in sums:
            total.close(end)
        self._values.open.pop()
        result = [total.outside(entered) for total in sums]
        self._rebind_left(loop, result)
        return result

    def _poll(self, loop: Loop) -> None:
        """Emits the test of the stop flag at the end of an iteration, where a loop may be long."""
        if any((s, loop.head) in self._e.region.polled for s in loop.body):
            self._e.poll(self._e.loc)

    def _emit_head(self, level: Level) -> None:
        """Emits the first item of a divergent loop, which all active lanes run."""
        item = level.entry
        if isinstance(item, Loop):
            raise NotVectorizable("a loop that begins with a loop")
        self._flow.emit_segment(item)
        for masked in self._flow.masked.edges_of(item):
            self._edges.add(level, masked)

    def _rebind_left(self, loop: Loop, edges: list[MaskedEdge]) -> None:
        """Rebinds the values of a divergent loop to what each lane left it with."""
        for value in self._values.of(loop):
            with_it = [m for m in edges if id(value) in m.exit_values]
            if not with_it:
                continue
            parts = self._edges.merge_exit_value(id(value), with_it)
            self._e.lanes.rebind(value, parts)
        outer = {id(v) for other in self._values.open if other.divergent for v in self._values.of(other)}
        for masked in edges:
            masked.exit_values = {n: parts for n, parts in masked.exit_values.items() if n in outer}


class _ExitSum:
    """Sums up over the iterations of a divergent loop which lanes left by one edge, and with which values."""

    def __init__(self, flow: RegionFlow, masked: MaskedEdge, room: list[Phi], before: str, *, single: bool):
        self._e, self._masked, self._single = flow.e, masked, single
        self._open: list[tuple[Phi, str]] = []  # phis at the loop's head, each with what comes round
        self._room, self._before = room, before
        lanes = f"<{flow.e.count} x i1>"
        self._lanes = vt.text_of(masked.mask)
        if not single:
            so_far = self._open_phi(lanes)
            self._lanes = flow.e.body.op(f"or {lanes} {so_far.name}, {self._lanes}")
            self._open.append((so_far, self._lanes))
        known = {id(phi): phi for phi in phis_of(masked.edge.target)}
        self._values = {n: self._sum(parts, known[n], flow.blocks.is_varying(known[n])) for n, parts in masked.values.items()}
        self._exit_values = {n: self._sum(parts, flow.loop_values.value(n), True) for n, parts in masked.exit_values.items()}

    def _open_phi(self, type: str) -> Phi:
        phi = Phi(self._e.body.take_name(), type)
        phi.add(("zeroinitializer", self._before))
        self._room.append(phi)
        return phi

    def _sum(self, parts: list[str], value: ir.Instr, varying: bool) -> list[str]:
        if not varying:  # a constant, or a value from before the loop
            return parts
        done, flags = [], f"<{self._e.count} x i1> {vt.text_of(self._masked.mask)}"
        for part, type in zip(parts, self._e.lanes.types(value, True), strict=True):
            old = self._open_phi(type)
            new = self._e.body.op(f"select {flags}, {type} {part}, {type} {old.name}")
            self._open.append((old, new))
            done.append(new)
        return done

    def close(self, end: str) -> None:
        """Completes the phis at the loop's head."""
        for phi, value in self._open:
            phi.add((value, end))

    def outside(self, entered: str | None) -> MaskedEdge:
        """Returns the edge as it is behind the loop. By a single exit, all lanes left that had entered."""
        return MaskedEdge(self._masked.edge, entered if self._single else self._lanes, self._values, self._exit_values)
