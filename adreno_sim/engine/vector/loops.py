"""Loops in vectors: a uniform loop stays a loop; a divergent loop runs until no lane is left in it."""

from __future__ import annotations

from ...ir import ir
from ...ir.provenance import is_pointer
from ..emit.check import NotVectorizable
from ..llvm import vector_text as vt
from ..llvm.text import Phi
from . import unroll
from .flow import Flow
from .flow_state import JumpRecord, MaskedEdge, unused_constant
from .structure import END, LATCH, Edge, Level, Loop


class LoopFlow(Flow):
    """Emits the loops of a region."""

    def emit_loop(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        if loop.divergent:
            return self._emit_divergent_loop(loop)
        return self._emit_uniform_loop(loop, linear)

    def _enter_head(self, loop: Loop) -> str:
        """Ends the preheader and starts the head of a loop."""
        t, head = self.body, loop.head
        values = {id(phi): self.lane_parts(phi, self._is_varying_phi(phi)) for phi in self._phis_of(head)}
        before = t.label
        t.jump(head.label + ".head")
        t.block(head.label + ".head")
        entry = self._reserve_phis(head.label + ".head", self._phis_of(head))
        entry.edges.append((before, values))
        return before

    def _emit_uniform_loop(self, loop: Loop, linear: bool) -> list[MaskedEdge] | None:
        t, level = self.body, self.structure.levels[loop]
        head = loop.head
        self._enter_head(loop)
        start = t.mark()
        out = head.label + ".out"
        if linear:
            self._exit_labels.append((loop, out))
        self._open_loops.append(loop)
        for item in level.items:
            if item in level.linear:
                continue
            if item is not level.entry:
                self._open_block(item.head if isinstance(item, Loop) else item)
            self._emit_item(level, item)
        t.block(head.label + ".latch")
        self._emit_latch(loop)
        walked = self.walked_rounds.get(loop, 1)
        rounds = unroll.choose_rounds(loop, self.structure, self.privates, t.lines_from(start), walked)
        t.jump(head.label + ".head", self.unit.unrolled_loop(rounds))
        self._open_loops.pop()
        if not linear:
            return None
        self._exit_labels.pop()
        t.block(out)
        return self._collect_exits(loop, self._jumps.get(out, []))

    def _emit_latch(self, loop: Loop) -> None:
        """Emits the block of the back edge, which merges the ways back and polls the stop flag."""
        t, head = self.body, loop.head
        label = head.label + ".latch"
        phis = self._phis_of(head)
        if phis and label not in self._jumps:
            raise NotVectorizable("a loop that lanes go round by masked ways alone")
        names = {}
        for phi in phis:
            types = self.lane_types(phi, self._is_varying_phi(phi))
            names[id(phi)] = [self._plain_phi(type, label, id(phi), part) for part, type in enumerate(types)]
        if any((s, head) in self._polled for s in loop.body):
            self.poll(self.loc)
        self._entries[head.label + ".head"].edges.append((t.label, names))

    def _plain_phi(self, type: str, label: str, number: int, part: int) -> str:
        pairs = ", ".join(f"[ {values[number][part]}, %{where} ]" for where, _, values in self._jumps[label])
        return self.body.op(f"phi {type} {pairs}")

    def _collect_exits(self, loop: Loop, jumps: list[JumpRecord]) -> list[MaskedEdge]:
        """Returns masked edges for the exits of a uniform loop in masked code."""
        t = self.body
        if len(jumps) == 1:
            _, edge, values = jumps[0]
            return [MaskedEdge(edge, self.mask, values, self._exit_values(edge))]
        labels = [label for label, _, _ in jumps]
        result = []
        lanes = f"<{self.count} x i1>"
        for own, edge, values in jumps:
            pairs = ", ".join(f"[ {vt.text_of(self.mask) if one == own else 'zeroinitializer'}, %{one} ]" for one in labels)
            mask = t.op(f"phi {lanes} {pairs}")
            result.append(MaskedEdge(edge, mask, {}))
            phis = {id(phi): phi for phi in self._phis_of(edge.target)}
            for number, parts in values.items():
                types = self.lane_types(phis[number], self._is_varying_phi(phis[number]))
                result[-1].values[number] = self._phi_from(own, labels, parts, types)
        for value in self._live_out[loop]:
            self._rebind(value, loop, jumps, labels)
        for masked in result:
            masked.exit_values = self._exit_values(masked.edge)
        return result

    def _phi_from(self, own: str, labels: list[str], parts: list[str], types: list[str]) -> list[str]:
        done = []
        for part, type in zip(parts, types, strict=True):
            nothing = unused_constant(type)
            pairs = ", ".join(f"[ {part if one == own else nothing}, %{one} ]" for one in labels)
            done.append(self.body.op(f"phi {type} {pairs}"))
        return done

    def _rebind(self, value: ir.Instr, loop: Loop, jumps: list[JumpRecord], labels: list[str]) -> None:
        """Rebinds a value used behind a loop with several exits. It is known only on exits that its definition dominates."""
        varying = self.varies(value)
        if id(value) in self.slots:
            return
        types, parts = self.lane_types(value, varying), self.known_lane_parts(value, varying)
        home = self.structure.segment_of[id(value)]
        if all(self.structure.dominates(home, edge.source) for _, edge, _ in jumps):
            return
        fresh = []
        for part, type in zip(parts, types, strict=True):
            nothing = unused_constant(type)
            pairs = ", ".join(
                f"[ {part if self.structure.dominates(home, edge.source) else nothing}, %{label} ]" for label, edge, _ in jumps
            )
            fresh.append(self.body.op(f"phi {type} {pairs}"))
        self.bind(value, fresh, varying)

    def known_lane_parts(self, value: ir.Instr, varying: bool) -> list[str]:
        """Returns the parts of a value without emitting code."""
        if is_pointer(value):
            raise NotVectorizable("a pointer that is used behind a loop with several ways out")
        return self.lanes[id(value)] if varying else [self.values[id(value)]]

    def _emit_divergent_loop(self, loop: Loop) -> list[MaskedEdge]:
        t, level, head = self.body, self.structure.levels[loop], loop.head
        lanes = f"<{self.count} x i1>"
        entered = self.mask
        start = vt.text_of(entered)
        if any(id(phi) in self.slots for phi in self._phis_of(head)):
            raise NotVectorizable("a divergent loop around values that are kept across a barrier")
        before = self._enter_head(loop)
        active, room = t.open_phi(lanes), t.make_room_for_phis()
        sums: list[tuple[Edge, _ExitAccumulator]] = []
        outer, self.mask = self.mask, active.name
        outer_nonempty, self.nonempty_mask = self.nonempty_mask, active.name
        self._open_loops.append(loop)
        self._item_masks[level, level.entry] = self.mask
        self._emit_head(level)
        self._emit_masked_items(level, level.children(level.entry))
        self.mask = outer
        self.nonempty_mask = outer_nonempty
        leaving = self._pending_edges.pop((level, END), [])
        if not leaving:
            raise NotVectorizable("a loop without end")
        single = len(leaving) == 1
        for masked in leaving:
            sums.append((masked.edge, _ExitAccumulator(self, masked, room, before, single)))
        back = self._pending_edges.pop((level, LATCH), [])
        if not back:
            raise NotVectorizable("a loop that is run once")
        again = self._union_mask(back)
        assert again is not None
        values = {id(phi): self._merge_phi(phi, back) for phi in self._phis_of(head)}
        if any((s, head) in self._polled for s in loop.body):
            self.poll(self.loc)
        end = t.label
        more, out = vt.any_of(t, again, self.count), head.label + ".out"
        self._entries[head.label + ".head"].edges.append((end, values))
        active.add((start, before), (again, end))
        t.branch(more, head.label + ".head", out)
        t.block(out)
        for _, total in sums:
            total.close(end)
        self._open_loops.pop()
        result = [total.outside(entered) for _, total in sums]
        self._rebind_live_out(loop, result)
        return result

    def _emit_head(self, level: Level) -> None:
        """Emits the first item of a divergent loop, which all active lanes run."""
        item = level.entry
        if isinstance(item, Loop):
            raise NotVectorizable("a loop that begins with a loop")
        self._emit_segment(item)
        for masked in self._masked_edges_of(item):
            self._add_masked_edge(level, masked)

    def _rebind_live_out(self, loop: Loop, edges: list[MaskedEdge]) -> None:
        """Rebinds the values of a divergent loop to what each lane left it with."""
        for value in self._live_out[loop]:
            with_it = [m for m in edges if id(value) in m.exit_values]
            if not with_it:
                continue
            parts = self._merge_exit_value(id(value), with_it)
            self.values.pop(id(value), None)
            self.pointers.pop(id(value), None)
            self.bind(value, parts, True)
        outer = {id(v) for other in self._open_loops if other.divergent for v in self._live_out[other]}
        for masked in edges:
            masked.exit_values = {n: parts for n, parts in masked.exit_values.items() if n in outer}


class _ExitAccumulator:
    """Accumulates over the iterations of a divergent loop which lanes left by one edge, and with which values."""

    def __init__(self, flow: Flow, masked: MaskedEdge, room: list[Phi], before: str, single: bool):
        self.flow, self.masked, self.single = flow, masked, single
        self._open: list[tuple[Phi, str]] = []  # phis at the loop's head, each with what comes round
        self._room, self._before = room, before
        t, lanes = flow.body, f"<{flow.count} x i1>"
        mine = vt.text_of(masked.mask)
        self.mask = mine
        if not single:
            so_far = self._open_phi(lanes)
            self.mask = t.op(f"or {lanes} {so_far.name}, {mine}")
            self._open.append((so_far, self.mask))
        known = {id(phi): phi for phi in flow._phis_of(masked.edge.target)}
        self.values = {n: self._sum(parts, known[n], flow._is_varying_phi(known[n])) for n, parts in masked.values.items()}
        self.exit_values = {n: self._sum(parts, flow._known[n], True) for n, parts in masked.exit_values.items()}

    def _open_phi(self, type: str) -> Phi:
        phi = Phi(self.flow.body.take_name(), type)
        phi.add(("zeroinitializer", self._before))
        self._room.append(phi)
        return phi

    def _sum(self, parts: list[str], value: ir.Instr, varying: bool) -> list[str]:
        if not varying:  # a constant, or a value from before the loop
            return parts
        done = []
        for part, type in zip(parts, self.flow.lane_types(value, True), strict=True):
            old = self._open_phi(type)
            new = self.flow.body.op(
                f"select <{self.flow.count} x i1> {vt.text_of(self.masked.mask)}, {type} {part}, {type} {old.name}"
            )
            self._open.append((old, new))
            done.append(new)
        return done

    def close(self, end: str) -> None:
        """Completes the phis at the loop's head."""
        for phi, value in self._open:
            phi.add((value, end))

    def outside(self, entered: str | None) -> MaskedEdge:
        """Returns the edge as it is behind the loop. By a single exit, all lanes left that had entered."""
        return MaskedEdge(self.masked.edge, entered if self.single else self.mask, self.values, self.exit_values)
