"""Masked code: where lanes may diverge, every path is run under the mask of the lanes that take it.

A masked edge carries the mask of the lanes that take it and the values they bring to the phis of its target. Blocks with side
effects, and costly ones, are branched around if their mask is empty, together with all they dominate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir import ir, llvm_types
from ..analysis.segments import Segment
from ..emit.check import NotVectorizable
from ..llvm import vector_text as vt
from . import recipes
from .flow_state import FlowState, MaskedEdge, unused_constant
from .structure import END, LATCH, Edge, Item, Level, Loop, Node, VirtualNode

_MANY = 24
"""The number of instructions that justifies a branch around them."""


class MaskedFlow(FlowState):
    """Emits the masked code of a region."""

    def _diverge(self, level: Level, root: Item, edges: list[MaskedEdge]) -> None:
        """Emits what follows an item at which lanes may diverge, up to their join, and the jump to the join."""
        for masked in edges:
            self._add_masked_edge(level, masked)
        end = level.joins[root]
        outer, inside = self.mask, level.region(root)
        within: set[Node] = set(inside)
        self._emit_masked_items(level, [item for item in inside if level.dominators.parents[item] not in within])
        self.mask = outer
        self._emit_join(level, end)

    def _add_masked_edge(self, level: Level, masked: MaskedEdge) -> None:
        node = level.node(masked.edge.target)
        key: object = (level, node) if isinstance(node, VirtualNode) else (level, masked.edge.target)
        self._edges_so_far += 1
        masked.number = self._edges_so_far
        self._pending_edges.setdefault(key, []).append(masked)
        if self._logs:
            self._logs[-1][key] = None

    def _emit_join(self, level: Level, end: Node) -> None:
        """Emits one jump to the join of all lanes, with the values that each lane brings."""
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
        """Emits the exit from the function at several places. Nothing may depend on the place."""
        if level.loop is not None:
            raise NotVectorizable("lanes that leave a loop in a way that was not foreseen")
        leaves, self._leaves = self._leaves, []
        numbers = {s.sync.number if s.sync else 0 for s, _ in leaves}
        if numbers - {0}:
            raise NotVectorizable("a barrier in divergent control flow")
        self.leave(None)

    def _merge_phi(self, phi: ir.Instr, arriving: list[MaskedEdge]) -> list[str]:
        """Returns the parts of a phi: each lane has the value of its edge."""
        parts = arriving[-1].values[id(phi)]
        if len(arriving) == 1:
            return parts
        varying = self._is_varying_phi(phi)
        if not varying:
            sources = [phi.incoming(masked.edge.source.block) for masked in arriving]
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

    def _merge_exit_value(self, number: int, arriving: list[MaskedEdge]) -> list[str]:
        """Returns the parts of a value of a divergent loop where edges join that all bring it."""
        parts, types = arriving[-1].exit_values[number], self.lane_types(self._known[number], True)
        for masked in reversed(arriving[:-1]):
            pairs = zip(types, masked.exit_values[number], parts, strict=True)
            parts = [self._blend(masked.mask, type, a, b) for type, a, b in pairs]
        return parts

    def _blend(self, mask: str | None, type: str, a: str, b: str) -> str:
        if mask is None or a == b:
            return a
        return self.body.op(f"select <{self.count} x i1> {mask}, {type} {a}, {type} {b}")

    def _union_mask(self, arriving: list[MaskedEdge]) -> str | None:
        """Returns the mask of the lanes that arrive by any of the edges; None means all."""
        mask = arriving[0].mask
        for masked in arriving[1:]:
            if mask is None or masked.mask is None:
                return None
            mask = self.body.op(f"or <{self.count} x i1> {mask}, {masked.mask}")
        return mask

    def _masked_edges_of(self, segment: Segment) -> list[MaskedEdge]:
        """Returns the outgoing edges of a segment under the current mask."""
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
        """Returns the masks of a switch's targets, the default first."""
        t, spelled = self.body, self.spelled(last.operands[0].type)
        type = llvm_types.elem_of(last.operands[0].type)
        hits = [t.op(f"icmp eq {spelled} {value}, {vt.numbers(type, [c] * self.count)}") for c in last.cases]
        rest = "splat (i1 true)"
        for hit in hits:
            rest = t.op(f"and <{self.count} x i1> {rest}, {vt.emit_not_mask(t, hit, self.count)}")
        return [rest, *hits]

    def _emit_masked_items(self, level: Level, items: Iterable[Item]) -> None:
        """Emits masked items, each with all it dominates. The items that are begun are a list and no calls within one another:
        a kernel may nest, or follow one another, thousands of branches."""
        begun: list[Iterator[Item]] = [iter(items)]
        while begun:
            item = next(begun[-1], None)
            if item is None:
                begun.pop()
            else:
                begun.append(self._emit_masked_item(level, item))

    def _emit_masked_item(self, level: Level, item: Item) -> Iterator[Item]:
        """Emits a masked item. Yields the items that it dominates, which are emitted meanwhile."""
        t = self.body
        target = item.head if isinstance(item, Loop) else item
        arriving = self._pending_edges.pop((level, target))
        mask = self._mask_at(level, item, arriving)
        if mask is None or mask == self.nonempty_mask or not self._worth_skipping(level, item):
            yield from self._emit_masked_body(level, item, arriving, mask)
            return
        on, after = t.fresh("some"), t.fresh("none")
        t.branch(vt.any_of(t, mask, self.count), on, after)
        before = t.label
        t.block(on)
        self._logs.append({})
        first = self._edges_so_far + 1
        known, self.nonempty_mask = self.nonempty_mask, mask
        yield from self._emit_masked_body(level, item, arriving, mask)
        self.nonempty_mask = known
        ways = [key for key in self._logs.pop() if key in self._pending_edges]
        out = [masked for key in ways for masked in self._unite_alike(self._pending_edges[key], first)]
        end = t.label
        t.jump(after)
        t.block(after)
        for masked in out:
            self._phis_after_skip(masked, before, end)
        if self._logs:
            self._logs[-1].update(dict.fromkeys(ways))

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
        values = {id(phi): self._merge_phi(phi, edges) for phi in self._phis_of(first.edge.target)}
        first.exit_values = {number: self._merge_exit_value(number, edges) for number in first.exit_values}
        first.values = values
        first.mask = self._union_mask(edges)

    def _phis_after_skip(self, masked: MaskedEdge, before: str, end: str) -> None:
        """Adds phis to an edge out of code that may be skipped: then no lane takes the edge."""
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
        """Returns the mask of an item: that of the branch whose paths join here, or the union of its edges."""
        parent = level.dominators.parents[item]
        if len(arriving) > 1 and level.joins.get(parent) is item and (level, parent) in self._item_masks:  # type: ignore[arg-type]
            return self._item_masks[level, parent]
        return self._union_mask(arriving)

    def _worth_skipping(self, level: Level, item: Item) -> bool:
        """Returns whether masked code is branched around: an item, and all that it dominates."""
        total, below = 0, [item]
        while below:
            one = below.pop()
            if isinstance(one, Loop):
                return True
            total += one.end - one.start
            if total > _MANY:
                return True
            below += [child for child in level.children(one) if child in level.linear]
        assert isinstance(item, Segment)
        return any(recipes.needs_active_lane(self, i) for i in item.instrs)

    def _emit_masked_body(self, level: Level, item: Item, arriving: list[MaskedEdge], mask: str | None) -> Iterator[Item]:
        """Emits a masked item itself. Yields the items that it dominates."""
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
                yield child
