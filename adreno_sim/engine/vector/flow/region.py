"""The segments of a region in vectors, level by level: uniform branches stay branches, divergent ones become masked code."""

from __future__ import annotations

from ....ir import ir
from ...analysis.segments import Segment
from ...emit.check import NotVectorizable
from ...emit.segment_flow import emit_branch
from ...llvm.passes import MOST_VECTORS
from .. import recipes
from ..emitter import VectorEmitter
from ..structure import LATCH, Edge, Item, Level, Loop
from .blocks import Blocks, phis_of
from .loop_values import LoopValues
from .loops import LoopFlow
from .masked import MaskedFlow
from .masked_edges import MaskedEdges


def emit_region(e: VectorEmitter) -> None:
    """Emits the segments of the region of `e`. Raises NotVectorizable."""
    RegionFlow(e).emit()


class RegionFlow:
    """Emits the segments of one region, and marks in `e.structure` which of them are masked.

    blocks: the blocks that branches lead to. loop_values: what leaves loops. edges: the masked edges. masked and loops: the code
    of masked items, and of loops; both come back here for what is inside.
    """

    def __init__(self, e: VectorEmitter):
        self.e, self.structure = e, e.structure
        self._mark_divergence()
        self.blocks = Blocks(e)
        self.loop_values = LoopValues(e, e.structure)
        self.edges = MaskedEdges(e, self.blocks, self.loop_values)
        self.masked = MaskedFlow(self)
        self.loops = LoopFlow(self)

    def _mark_divergence(self) -> None:
        for segment in self.structure.mark_divergence(self.e.shapes.diverges):
            for phi in phis_of(segment):
                same = all(v is phi.operands[0] for v in phi.operands)
                if self.e.shapes.of(phi).lane_offsets is not None and not same:
                    raise NotVectorizable("control flow that looks different between two barriers")
        if any(self.e.shapes.is_left_divergently(value) for value in self.e.region.redefined):
            raise NotVectorizable("a value of a divergent loop that is kept across a barrier")

    def emit(self) -> None:
        """Emits all segments. Each exit ends in a jump to `left`."""
        level = self.structure.levels[None]
        if self.e.active.mask is not None:
            self.masked.note_mask(level, level.entry, self.e.active.mask)
        if not isinstance(level.entry, Segment):
            raise NotVectorizable("a kernel that begins with a loop")
        self.emit_level(level, is_open=False)
        self.blocks.complete()
        self._check_size()

    def emit_level(self, level: Level, *, is_open: bool) -> None:
        """Emits the items that are not masked, in order. Masked items follow the item they depend on. is_open: the block of the
        first item has begun."""
        for item in level.items:
            if item in level.linear:
                continue
            segment = item.head if isinstance(item, Loop) else item
            if not (is_open and item is level.entry):
                self.blocks.open(segment.label, phis_of(segment))
            self._emit_item(level, item)

    def _emit_item(self, level: Level, item: Item) -> None:
        if isinstance(item, Loop):
            edges = self.loops.emit(item, linear=item in level.branching)
            if edges is not None:
                self.masked.diverge(level, item, edges)
            return
        self.emit_segment(item)
        if item in level.branching:
            self.masked.diverge(level, item, self.masked.edges_of(item))
        else:
            self._emit_terminator(level, item)

    def emit_segment(self, segment: Segment) -> None:
        """Emits the instructions of a segment, without phis and terminator."""
        self._check_size()
        for instr in segment.instrs:
            if instr.op == "phi" or instr.op in ir.TERMINATORS:
                continue
            self.e.loc, self.e.current = instr.loc, instr
            recipes.emit_instruction(self.e, instr)

    def _check_size(self) -> None:
        """Gives up vectors that become too much code."""
        if self.e.body.size > MOST_VECTORS:
            raise NotVectorizable(f"over {MOST_VECTORS} lines of vector code")

    def _emit_terminator(self, level: Level, item: Segment) -> None:
        """Emits the terminator of an item that all lanes leave the same way."""
        last = item.block.instrs[-1]
        self.e.loc = last.loc
        if item.sync is not None:
            self.e.leave_at_sync(item)
            return
        if last.op in ("ret", "unreachable"):
            self.e.leave(None)
            return
        edges = [Edge(item, s) for s in item.successors]
        labels = [self._target_label(level, edge) for edge in edges]
        values = [self.blocks.phi_values(edge) for edge in edges]
        for label, edge, parts in zip(labels, edges, values, strict=True):
            self.blocks.record_jump(label, edge, parts)
        emit_branch(self.e, last, labels)

    def _target_label(self, level: Level, edge: Edge) -> str:
        if level.node(edge.target) is LATCH:
            return edge.target.label + ".latch"
        return self.loops.exit_label(edge) or edge.target.label
