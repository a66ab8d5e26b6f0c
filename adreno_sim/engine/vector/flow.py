"""The segments of a region in vectors: uniform branches stay branches, divergent ones become masked code."""

from __future__ import annotations

from ..analysis.segments import Segment
from ..emit.check import NotVectorizable
from .masked_flow import MaskedFlow
from .structure import LATCH, Edge, Item, Level, Loop


class Flow(MaskedFlow):
    """Emits the segments of a region, level by level."""

    def emit_region(self) -> None:
        """Emits all segments. Each exit ends in a jump to `left`."""
        self._reset_flow()
        level = self.structure.levels[None]
        if self.mask is not None:
            self._item_masks[level, level.entry] = self.mask
        if not isinstance(level.entry, Segment):
            raise NotVectorizable("a kernel that begins with a loop")
        self._emit_level(level)
        self._write_phis()

    def _emit_level(self, level: Level) -> None:
        """Emits the items that are not masked, in order. Masked items follow the item they depend on."""
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
        """Starts a block that branches lead to."""
        self.body.block(self._label(segment))
        self._reserve_phis(self._label(segment), self._phis_of(segment))

    def _target_label(self, level: Level, edge: Edge) -> str:
        if level.node(edge.target) is LATCH:
            return edge.target.label + ".latch"
        for loop, label in reversed(self._exit_labels):  # loops in masked code collect their ways out
            if edge.source in loop.body and edge.target not in loop.body:
                return label
        return self._label(edge.target)

    def _emit_terminator(self, level: Level, item: Segment) -> None:
        """Emits the terminator of an item that all lanes leave the same way."""
        last = item.block.instrs[-1]
        self.loc = last.loc
        if item.sync is not None:
            self.leave_at_sync(item)
            return
        if last.op in ("ret", "unreachable"):
            self.leave(None)
            return
        edges = [Edge(item, s) for s in item.successors]
        labels = [self._target_label(level, edge) for edge in edges]
        values = [self._phi_parts(edge) for edge in edges]
        for label, edge, parts in zip(labels, edges, values, strict=True):
            self._record_jump(label, edge, parts)
        self.emit_branch(last, labels)
