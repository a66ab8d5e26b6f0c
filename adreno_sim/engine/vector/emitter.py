"""Emits one region of a kernel for a vector of work-items: what lies around its code, and what lives across barriers."""

from __future__ import annotations

from ...ir import ir
from ...ir.provenance import Object, ObjectId
from ...ir.queries import private_bytes
from ..analysis.parallel_regions import ParallelRegion
from ..analysis.segments import Segment
from ..emit.check import NotVectorizable
from ..emit.region import value_bytes
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .flow.blocks import phis_of
from .flow.region import RegionFlow
from .lane_access.strided_loads import StridedLoads
from .private_room import emit_private_fill, emit_tile_number, private_address
from .structure import Structure
from .values import LaneValues
from .vector_plan import VectorPlan


class VectorEmitter(LaneValues):
    """Emits `i64 @region.N(...)` as RegionEmitter does, for a tile of work-items at a time."""

    def __init__(self, plan: VectorPlan, region: ParallelRegion):
        super().__init__(plan, region)
        self.structure = Structure(region.order)
        mixed = self.structure.mark_divergence(self.shapes.diverges)
        self.strided_loads = StridedLoads(self.structure, self.shapes, self.privates)
        for segment in mixed:
            for phi in phis_of(segment):
                same = all(v is phi.operands[0] for v in phi.operands)
                if self.shapes.of(phi).lane_offsets is not None and not same:
                    raise NotVectorizable("control flow that looks different between two barriers")
        for value in region.redefined:
            if self._left_divergently(value):
                raise NotVectorizable("a value of a divergent loop that is kept across a barrier")

    # Around the region

    def emit_segments(self, order: list[Segment], polled: set[tuple[Segment, Segment]]) -> None:
        self.mask = self._first_mask = self._remaining()
        self.is_nsw, self.interval_of = self._is_nsw, self.shapes.interval_of
        self.nonempty_mask = self.mask  # lane 0 has work in every tile
        RegionFlow(self).emit()

    def _is_nsw(self, instr: ir.Instr) -> bool:
        """Returns whether an operation never wraps in the lanes it is computed for. Proofs hold for active work-items only,
        so one of them must be active."""
        if not (self.unit.is_nsw(instr) or self.shapes.is_nsw(instr)):
            return False
        if all(self.shapes.of(value).uniform for value in (instr, *instr.operands)):
            return self.mask in (None, self.nonempty_mask)
        return self.mask in (None, self._first_mask)  # lane 0 has work in every tile

    def _remaining(self) -> str | None:
        """Returns the mask of lanes that are work-items of the group; None if all are."""
        t, mask = self.opening, None
        for axis in range(3):
            size = self.tile.size[axis]
            if size == 1 or (self.unit.spec.uniform and self.unit.spec.local_size[axis] % size == 0):
                continue
            own = vt.emit_add_pattern(t, ir.Int(64), self.item_ids.local[axis], self.tile.lane_offsets(axis))
            limit = vt.splat(t, ir.Int(64), self.item_ids.size(axis), self.count)
            mask = vt.emit_and_masks(t, mask, t.op(f"icmp ult <{self.count} x i64> {own}, {limit}"), self.count)
        return mask

    def _looped(self, axis: int) -> bool:
        """A single tile needs no loop."""
        return self.tile.count(self.unit.spec.local_size)[axis] > 1

    def _step(self, axis: int) -> int:
        return self.tile.size[axis]

    def _private(self, object_id: ObjectId) -> Object:
        instr = self.privates.variable_by_id(object_id[1])
        name = instr.name or "private variable"
        return Object(object_id, name, "private", private_address(self, instr, self.plan.private), private_bytes(instr))

    def _zero(self, instr: ir.Instr) -> None:
        emit_private_fill(self, self.opening, instr, self.object(("alloca", id(instr))).base, "0")
        self.hooks.on_alloca(instr)

    # What lives across barriers: per tile the parts of each value, lane 0's only where that says all

    def _left_divergently(self, value: ir.Instr) -> bool:
        loop = self.shapes.loop_of(value)
        while loop is not None:
            if loop.divergent:
                return True
            loop = loop.parent
        return False

    def spills_vectors(self, value: ir.Instr) -> bool:
        """Returns whether a value live across a synchronisation point is spilled as vectors."""
        return self.shapes.of(value).lane_offsets is None or self._left_divergently(value)

    def spill_types(self, value: ir.Instr) -> list[str]:
        return self.lane_types(value, self.spills_vectors(value))

    def _open_item(self) -> None:
        self.tile_number = emit_tile_number(self, self.opening)
        for value in self.region.redefined:
            self.slots[id(value)] = self.make_slots(value, 64)
        body, self.body = self.body, self.opening
        for value in self.region.live_in:
            parts = [
                self.opening.op(f"load {type}, ptr {self._spill_address(self.opening, offset, type)}, align 1")
                for offset, type in zip(self.plan.spilled[id(value)], self.spill_types(value), strict=True)
            ]
            self.bind(value, parts, self.spills_vectors(value))
        for variable in self.plan.variables.values() if self.region.number == 0 else ():
            self._zero(variable)
        self.body = body

    def _spill_address(self, t: Text, offset: int, type: str) -> str:
        base = t.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        return t.op(f"getelementptr [{value_bytes(type)} x i8], ptr {base}, i64 {self.tile_number}")

    def leave_at_sync(self, segment: Segment) -> None:
        sync, t = segment.sync, self.body
        assert sync is not None
        for value in self.plan.regions.live_across(sync):
            if id(value) in self.region.defined:
                varying = self.spills_vectors(value)
                parts = self.lane_parts(value, varying)
                for offset, type, part in zip(self.plan.spilled[id(value)], self.spill_types(value), parts, strict=True):
                    t.do(f"store {type} {part}, ptr {self._spill_address(t, offset, type)}, align 1")
        self.exits.append((t.label, sync.number))
        t.jump("left")
