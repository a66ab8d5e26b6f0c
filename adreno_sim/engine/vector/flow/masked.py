"""Masked code: where lanes may diverge, every path is run under the mask of the lanes that take it.

A masked edge carries the mask of the lanes that take it and the values they bring to the phis of its target. Blocks with side
effects, and costly ones, are branched around if their mask is empty, together with all they dominate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ....ir import ir, llvm_types
from ...analysis.segments import Segment
from ...emit.check import NotVectorizable
from ...llvm import vector_text as vt
from .. import recipes
from ..structure import END, LATCH, Edge, Item, Level, Loop, Node, VirtualNode
from .blocks import phis_of, unused_constant
from .masked_edges import MaskedEdge

if TYPE_CHECKING:
    from .region import RegionFlow

_MANY = 24
"""The number of instructions that justifies a branch around them."""


class MaskedFlow:
    """Emits the masked code of a region."""

    def __init__(self, flow: RegionFlow):
        self._flow, self._e, self._blocks, self._edges = flow, flow.e, flow.blocks, flow.edges
        self._item_masks: dict[tuple[Level, object], str | None] = {}  # the mask of each masked item
        self._leaves: list[Segment] = []  # where lanes under masks end

    def note_mask(self, level: Level, item: Item, mask: str | None) -> None:
        """Notes the mask under which an item runs."""
        self._item_masks[level, item] = mask

    def diverge(self, level: Level, root: Item, edges: list[MaskedEdge]) -> None:
        """Emits what follows an item at which lanes may diverge, up to their join, and the jump to the join."""
        for masked in edges:
            self._edges.add(level, masked)
        end, inside = level.joins[root], level.region(root)
        within: set[Node] = set(inside)
        self.emit_items(level, [item for item in inside if level.dominators.parents[item] not in within])
        self._emit_join(level, end)

    def _emit_join(self, level: Level, end: Node) -> None:
        """Emits one jump to the join of all lanes, with the values that each lane brings."""
        if end is END:
            self._emit_end(level)
            return
        if end is LATCH:
            assert level.loop is not None
            target = level.loop.head
            label = target.label + ".latch"
            arriving = self._edges.take(level, LATCH)
        else:
            assert not isinstance(end, VirtualNode)
            target = end.head if isinstance(end, Loop) else end
            label = target.label
            arriving = self._edges.take(level, target)
        values = self._edges.merge_phis(target, arriving)
        self._blocks.record_jump(label, arriving[0].edge, values)
        self._e.body.jump(label)

    def _emit_end(self, level: Level) -> None:
        """Emits the exit from the function at several places. Nothing may depend on the place."""
        if level.loop is not None:
            raise NotVectorizable("lanes that leave a loop in a way that was not foreseen")
        leaves, self._leaves = self._leaves, []
        numbers = {s.sync.number if s.sync else 0 for s in leaves}
        if numbers - {0}:
            raise NotVectorizable("a barrier in divergent control flow")
        self._e.leave(None)

    def edges_of(self, segment: Segment) -> list[MaskedEdge]:
        """Returns the outgoing edges of a segment under the current mask."""
        e, last, t = self._e, segment.block.instrs[-1], self._e.body
        e.loc = last.loc
        if segment.sync is not None or last.op in ("ret", "unreachable"):
            if segment.sync is not None:
                raise NotVectorizable("a barrier in divergent control flow")
            self._leaves.append(segment)
            return []
        targets = segment.successors
        if last.op == "br" or len(set(targets)) == 1:
            return [self._edges.make(Edge(segment, targets[0]), e.active.mask)]
        condition = e.lanes.components(last.operands[0])[0]
        masks: list[str | None]
        if last.op == "condbr":
            masks = [condition, vt.emit_not_mask(t, condition, e.count)]
        else:
            masks = self._case_masks(last, condition)
        found: dict[Segment, MaskedEdge] = {}
        for target, mask in zip(targets, masks, strict=True):
            whole = vt.emit_and_masks(t, e.active.mask, mask, e.count)
            if target in found:
                assert found[target].mask is not None
                assert whole is not None
                found[target].mask = t.op(f"or <{e.count} x i1> {found[target].mask}, {whole}")
                continue
            found[target] = self._edges.make(Edge(segment, target), whole)
        return list(found.values())

    def _case_masks(self, last: ir.Instr, value: str) -> list[str | None]:
        """Returns the masks of a switch's targets, the default first."""
        e, t = self._e, self._e.body
        spelled, type = e.lanes.spelled(last.operands[0].type), llvm_types.elem_of(last.operands[0].type)
        hits = [t.op(f"icmp eq {spelled} {value}, {vt.numbers(type, [c] * e.count)}") for c in last.cases]
        rest = "splat (i1 true)"
        for hit in hits:
            rest = t.op(f"and <{e.count} x i1> {rest}, {vt.emit_not_mask(t, hit, e.count)}")
        return [rest, *hits]

    def emit_items(self, level: Level, items: Iterable[Item]) -> None:
        """Emits masked items, each with all it dominates. The items that are begun are a list and no calls within one another:
        a kernel may nest, or follow one another, thousands of branches."""
        begun: list[Iterator[Item]] = [iter(items)]
        while begun:
            item = next(begun[-1], None)
            if item is None:
                begun.pop()
            else:
                begun.append(self._emit_item(level, item))

    def _emit_item(self, level: Level, item: Item) -> Iterator[Item]:
        """Emits a masked item. Yields the items that it dominates, which are emitted meanwhile."""
        e, t = self._e, self._e.body
        target = item.head if isinstance(item, Loop) else item
        arriving = self._edges.take(level, target)
        mask = self._mask_at(level, item, arriving)
        if mask is None or mask == e.active.nonempty or not self._worth_skipping(level, item):
            yield from self._emit_body(level, item, arriving, mask)
            return
        on, after = t.fresh("some"), t.fresh("none")
        t.branch(vt.any_of(t, mask, e.count), on, after)
        before = t.label
        t.block(on)
        self._edges.enter_skippable()
        with e.active.knowing_some(mask):
            yield from self._emit_body(level, item, arriving, mask)
        out = self._edges.leave_skippable()
        end = t.label
        t.jump(after)
        t.block(after)
        for masked in out:
            self._emit_phis_after_skip(masked, before, end)

    def _emit_phis_after_skip(self, masked: MaskedEdge, before: str, end: str) -> None:
        """Adds phis to an edge out of code that may be skipped: then no lane takes the edge."""
        t, lanes = self._e.body, f"<{self._e.count} x i1>"
        held = vt.text_of(masked.mask)
        masked.mask = t.op(f"phi {lanes} [ {held}, %{end} ], [ zeroinitializer, %{before} ]")
        phis = {id(phi): phi for phi in phis_of(masked.edge.target)}
        for number, parts in masked.values.items():
            masked.values[number] = self._phi_after_skip(parts, self._blocks.types(phis[number]), before, end)
        for number, parts in masked.exit_values.items():
            types = self._e.lanes.types(self._flow.loop_values.value(number), True)
            masked.exit_values[number] = self._phi_after_skip(parts, types, before, end)

    def _phi_after_skip(self, parts: list[str], types: list[str], before: str, end: str) -> list[str]:
        result = []
        for part, type in zip(parts, types, strict=True):
            if not part.startswith("%"):
                result.append(part)
                continue
            nothing = unused_constant(type)
            result.append(self._e.body.op(f"phi {type} [ {part}, %{end} ], [ {nothing}, %{before} ]"))
        return result

    def _mask_at(self, level: Level, item: Item, arriving: list[MaskedEdge]) -> str | None:
        """Returns the mask of an item: that of the branch whose paths join here, or the union of its edges."""
        parent = level.dominators.parents[item]
        if len(arriving) > 1 and level.joins.get(parent) is item and (level, parent) in self._item_masks:  # type: ignore[arg-type]
            return self._item_masks[level, parent]
        return self._edges.union_mask(arriving)

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
        return any(recipes.needs_active_lane(self._e, i) for i in item.instrs)

    def _emit_body(self, level: Level, item: Item, arriving: list[MaskedEdge], mask: str | None) -> Iterator[Item]:
        """Emits a masked item itself. Yields the items that it dominates."""
        self.note_mask(level, item, mask)
        with self._e.active.under(mask):
            edges = self._emit_loop(item, arriving) if isinstance(item, Loop) else self._emit_segment(item, arriving)
        for masked in edges:
            self._edges.add(level, masked)
        for child in level.children(item):
            if child in level.linear:
                yield child

    def _emit_segment(self, segment: Segment, arriving: list[MaskedEdge]) -> list[MaskedEdge]:
        """Emits a segment that runs under the current mask. Returns its outgoing edges."""
        values = self._edges.merge_phis(segment, arriving)
        for phi in phis_of(segment):
            self._e.lanes.bind(phi, values[id(phi)], self._blocks.is_varying(phi))
        self._flow.emit_segment(segment)
        return self.edges_of(segment)

    def _emit_loop(self, loop: Loop, arriving: list[MaskedEdge]) -> list[MaskedEdge]:
        """Emits a loop that runs under the current mask. Returns its exit edges."""
        label = loop.head.label
        values = self._edges.merge_phis(loop.head, arriving)
        self._e.body.jump(label)
        self._blocks.record_jump(label, arriving[0].edge, values)
        self._blocks.open(label, phis_of(loop.head))
        edges = self._flow.loops.emit(loop, linear=True)
        assert edges is not None
        return edges
