"""Segments of the SPMD emitter: jumps where all lanes go one way, straight code under masks where they may part.

An edge out of masked code carries the lanes that take it and what they bring to the phis of its target. An item of masked
code that must not, or need not, run without lanes is skipped by a jump together with all it dominates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import ir, llvm_types
from ..analysis.segments import Segment
from ..analysis.shift_amounts import written_amount
from ..llvm import vector_text as vt
from .structure import END, LATCH, Edge, Item, Level, Loop, Node, Structure, VirtualNode
from .tile import NotVectorizable
from .values import LaneValues

_MANY = 24
"""Instructions that are worth a jump around them when no lane needs them."""


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


class Flow(LaneValues):
    """Writes the segments of a region."""

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

    def emit_region(self) -> None:
        """Write all segments, each way out ending in a jump to `left`."""
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
        level = self.structure.levels[None]
        if self.mask is not None:
            self._item_masks[level, level.entry] = self.mask
        if not isinstance(level.entry, Segment):
            raise NotVectorizable("a kernel that begins with a loop")
        self._emit_level(level)
        self._write_phis()

    # Real code

    def _emit_level(self, level: Level) -> None:
        """Items that are not masked, in order; masked ones follow the item they depend on."""
        for item in level.items:
            if item in level.linear:
                continue
            segment = item.head if isinstance(item, Loop) else item
            self._open_block(segment)
            self._emit_item(level, item)

    def _emit_item(self, level: Level, item: Item) -> None:
        if isinstance(item, Loop):
            edges = self.emit_loop(item, linear=item in level.branching)
            if edges is not None:
                self._diverge(level, item, edges)
            return
        self._emit_segment(item)
        if item in level.branching:
            self._diverge(level, item, self._masked_edges_of(item))
        else:
            self._emit_terminator(level, item)

    def _open_block(self, segment: Segment) -> None:
        """Begin a block that jumps lead to."""
        self.body.block(self._label(segment))
        self._reserve_phis(self._label(segment), self._phis_of(segment))

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

    def _target_label(self, level: Level, edge: Edge) -> str:
        if level.node(edge.target) is LATCH:
            return edge.target.label + ".latch"
        for loop, label in reversed(self._exit_labels):  # loops in masked code collect their ways out
            if edge.source in loop.body and edge.target not in loop.body:
                return label
        return self._label(edge.target)

    def _emit_terminator(self, level: Level, item: Segment) -> None:
        """The terminator of an item that all lanes leave the same way."""
        t, last = self.body, item.block.instrs[-1]
        self.loc = last.loc
        if item.sync is not None:
            self.leave_at_sync(item)
            return
        if last.op in ("ret", "unreachable"):
            self.leave(None)
            return
        edges = [Edge(item, s) for s in item.successors]
        labels = []
        values = [self._phi_parts(e) for e in edges]
        condition = self.value(last.operands[0]) if last.operands else ""
        for edge, parts in zip(edges, values, strict=True):
            label = self._target_label(level, edge)
            self._record_jump(label, edge, parts)
            labels.append(label)
        if last.op == "br":
            t.jump(labels[0])
        elif last.op == "condbr":
            t.branch(condition, labels[0], labels[1])
        else:
            type = llvm_types.spell(last.operands[0].type)
            cases = " ".join(f"{type} {c}, label %{label}" for c, label in zip(last.cases, labels[1:], strict=True))
            t.do(f"switch {type} {condition}, label %{labels[0]} [ {cases} ]")

    def _record_jump(self, label: str, edge: Edge, values: dict[int, list[str]]) -> None:
        """A jump from here to `label`."""
        self._jumps.setdefault(label, []).append((self.body.label, edge, values))

    # Masked code

    def _diverge(self, level: Level, root: Item, edges: list[MaskedEdge]) -> None:
        """What follows an item whose lanes may go different ways, up to where they meet; then the jump on."""
        for masked in edges:
            self._add_masked_edge(level, masked)
        end = level.joins[root]
        outer, inside = self.mask, level.region(root)
        for item in inside:
            if level.parents[item] not in inside:
                self._emit_masked_item(level, item)
        self.mask = outer
        self._emit_join(level, end)

    def _add_masked_edge(self, level: Level, masked: MaskedEdge) -> None:
        node = level.node(masked.edge.target)
        key: object = (level, node) if isinstance(node, VirtualNode) else (level, masked.edge.target)
        self._pending_edges.setdefault(key, []).append(masked)
        for log in self._logs:
            log.append(masked)

    def _emit_join(self, level: Level, end: Node) -> None:
        """All lanes are together again: one jump with what each brought."""
        t = self.body
        if end is END:
            self._emit_end(level)
            return
        if end is LATCH:
            assert level.loop is not None
            target = level.loop.head
            label = target.label + ".latch"
            arriving = self._pending_edges.pop((level, LATCH))
        else:
            assert not isinstance(end, VirtualNode)
            target = end.head if isinstance(end, Loop) else end
            label = self._label(target)
            arriving = self._pending_edges.pop((level, target))
        values = {id(phi): self._merge_phi(phi, arriving) for phi in self._phis_of(target)}
        self._record_jump(label, arriving[0].edge, values)
        t.jump(label)

    def _emit_end(self, level: Level) -> None:
        """Lanes leave the function at different places: nothing may depend on which."""
        if level.loop is not None:
            raise NotVectorizable("lanes that leave a loop in a way that was not foreseen")
        leaves, self._leaves = self._leaves, []
        numbers = {s.sync.number if s.sync else 0 for s, _ in leaves}
        if numbers - {0}:
            raise NotVectorizable("a barrier in divergent control flow")
        self.leave(None)

    def _merge_phi(self, phi: ir.Instr, arriving: list[MaskedEdge]) -> list[str]:
        """The parts of a phi from masked edges: for each lane what its edge brought."""
        parts = arriving[-1].values[id(phi)]
        if len(arriving) == 1:
            return parts
        varying = self._is_varying_phi(phi)
        if not varying:
            sources = [phi.operands[next(i for i, b in enumerate(phi.blocks) if b is m.edge.source.block)] for m in arriving]
            if any(s is not sources[0] for s in sources):
                raise NotVectorizable("a value that differs between lanes unforeseen")
            return self.lane_parts(sources[0], False)
        types = self.lane_types(phi, True)
        for masked in reversed(arriving[:-1]):
            new = masked.values[id(phi)]
            if new == parts:
                continue
            parts = [self._blend(masked.mask, type, a, b) for type, a, b in zip(types, new, parts, strict=True)]
        return parts

    def _blend(self, mask: str | None, type: str, a: str, b: str) -> str:
        if mask is None or a == b:
            return a
        return self.body.op(f"select <{self.count} x i1> {mask}, {type} {a}, {type} {b}")

    def _union_mask(self, arriving: list[MaskedEdge]) -> str | None:
        """The lanes that come over any of the edges."""
        mask = arriving[0].mask
        for masked in arriving[1:]:
            if mask is None or masked.mask is None:
                return None
            mask = self.body.op(f"or <{self.count} x i1> {mask}, {masked.mask}")
        return mask

    def _masked_edges_of(self, segment: Segment) -> list[MaskedEdge]:
        """The ways out of a segment under the current mask."""
        last, t = segment.block.instrs[-1], self.body
        self.loc = last.loc
        if segment.sync is not None or last.op in ("ret", "unreachable"):
            if segment.sync is not None:
                raise NotVectorizable("a barrier in divergent control flow")
            self._leaves.append((segment, self.mask))
            return []
        targets = segment.successors
        if last.op == "br" or len(set(targets)) == 1:
            edge = Edge(segment, targets[0])
            return [MaskedEdge(edge, self.mask, self._phi_parts(edge), self._exit_values(edge))]
        condition = self.components(last.operands[0])[0]
        masks: list[str | None]
        if last.op == "condbr":
            masks = [condition, vt.emit_not_mask(t, condition, self.count)]
        else:
            masks = self._case_masks(last, condition)
        found: dict[Segment, MaskedEdge] = {}
        for target, mask in zip(targets, masks, strict=True):
            whole = vt.emit_and_masks(t, self.mask, mask, self.count)
            if target in found:
                assert found[target].mask is not None and whole is not None
                found[target].mask = t.op(f"or <{self.count} x i1> {found[target].mask}, {whole}")
                continue
            edge = Edge(segment, target)
            found[target] = MaskedEdge(edge, whole, self._phi_parts(edge), self._exit_values(edge))
        return list(found.values())

    def _case_masks(self, last: ir.Instr, value: str) -> list[str | None]:
        """Masks of a switch's targets, the default first."""
        t, spelled = self.body, self.spelled(last.operands[0].type)
        type = llvm_types.elem_of(last.operands[0].type)
        hits = [t.op(f"icmp eq {spelled} {value}, {vt.numbers(type, [c] * self.count)}") for c in last.cases]
        rest = "splat (i1 true)"
        for hit in hits:
            rest = t.op(f"and <{self.count} x i1> {rest}, {vt.emit_not_mask(t, hit, self.count)}")
        return [rest, *hits]

    def _emit_masked_item(self, level: Level, item: Item) -> None:
        """An item of masked code and all it dominates in it."""
        t = self.body
        target = item.head if isinstance(item, Loop) else item
        arriving = self._pending_edges.pop((level, target))
        mask = self._mask_at(level, item, arriving)
        below = level.dominated(item) & level.linear
        if mask is None or mask == self.nonempty_mask or not self._worth_skipping(item, below):
            self._emit_masked_body(level, item, arriving, mask)
            return
        on, after = t.fresh("some"), t.fresh("none")
        t.branch(vt.any_of(t, mask, self.count), on, after)
        before = t.label
        t.block(on)
        self._logs.append([])
        known, self.nonempty_mask = self.nonempty_mask, mask
        self._emit_masked_body(level, item, arriving, mask)
        self.nonempty_mask = known
        log = self._logs.pop()
        end = t.label
        t.jump(after)
        t.block(after)
        waiting = {id(m) for group in self._pending_edges.values() for m in group}
        for masked in log:
            if id(masked) in waiting:
                self._phis_after_skip(masked, before, end)

    def _phis_after_skip(self, masked: MaskedEdge, before: str, end: str) -> None:
        """An edge out of code that may have been skipped: then no lane takes it."""
        t, lanes = self.body, f"<{self.count} x i1>"
        held = vt.text_of(masked.mask)
        masked.mask = t.op(f"phi {lanes} [ {held}, %{end} ], [ zeroinitializer, %{before} ]")
        phis = {id(phi): phi for phi in self._phis_of(masked.edge.target)}
        for number, parts in masked.values.items():
            types = self.lane_types(phis[number], self._is_varying_phi(phis[number]))
            masked.values[number] = self._phi_after_skip(parts, types, before, end)
        for number, parts in masked.exit_values.items():
            types = self.lane_types(self._known[number], True)
            masked.exit_values[number] = self._phi_after_skip(parts, types, before, end)

    def _phi_after_skip(self, parts: list[str], types: list[str], before: str, end: str) -> list[str]:
        result = []
        for part, type in zip(parts, types, strict=True):
            if not part.startswith("%"):
                result.append(part)
                continue
            nothing = unused_constant(type)
            result.append(self.body.op(f"phi {type} [ {part}, %{end} ], [ {nothing}, %{before} ]"))
        return result

    def _mask_at(self, level: Level, item: Item, arriving: list[MaskedEdge]) -> str | None:
        """The lanes that reach an item: those of the branch whose ways meet here, or those of its edges."""
        parent = level.parents[item]
        if len(arriving) > 1 and level.joins.get(parent) is item and (level, parent) in self._item_masks:  # type: ignore[arg-type]
            return self._item_masks[level, parent]
        return self._union_mask(arriving)

    def _worth_skipping(self, item: Item, below: set[Item]) -> bool:
        total = 0
        for one in below:
            if isinstance(one, Loop):
                return True
            total += len(one.instrs)
        assert isinstance(item, Segment)
        return total > _MANY or any(self.needs_active_lane(i) for i in item.instrs)

    def _emit_masked_body(self, level: Level, item: Item, arriving: list[MaskedEdge], mask: str | None) -> None:
        outer, self.mask = self.mask, mask
        target = item.head if isinstance(item, Loop) else item
        self._item_masks[level, item] = mask
        if isinstance(item, Loop):
            t = self.body
            label = self._label(target)
            values = {id(phi): self._merge_phi(phi, arriving) for phi in self._phis_of(target)}
            t.jump(label)
            self._record_jump(label, arriving[0].edge, values)
            t.block(label)
            self._reserve_phis(label, self._phis_of(target))
            edges = self.emit_loop(item, linear=True)
            assert edges is not None
        else:
            for phi, parts in [(phi, self._merge_phi(phi, arriving)) for phi in self._phis_of(item)]:
                self.bind(phi, parts, self._is_varying_phi(phi))
            self._emit_segment(item)
            edges = self._masked_edges_of(item)
        for masked in edges:
            self._add_masked_edge(level, masked)
        self.mask = outer
        for child in level.children(item):
            if child in level.linear:
                self._emit_masked_item(level, child)

    # Loops

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
