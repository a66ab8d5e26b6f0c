"""Emits one region of a kernel for a vector of work-items. The emitter owns the parts that write vector code."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import ir
from ...ir.provenance import Object, ObjectId
from ...ir.queries import private_bytes
from ..analysis.parallel_regions import ParallelRegion
from ..emit.check import NotVectorizable
from ..emit.diagnostic_sites import BENIGN_KINDS, DiagnosticSite
from ..emit.region import RegionEmitter
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .active import ActiveLanes
from .elementwise import Elementwise
from .faults import Faults
from .lane_access.columns import Columns
from .lane_access.strided_loads import StridedLoads
from .placeholders import Placeholders
from .private_room import PrivateRoom, emit_tile_number
from .structure import Structure
from .turns import LaneTurns
from .values import LaneValues
from .vector_plan import VectorPlan


class VectorEmitter(RegionEmitter):
    """Emits `i64 @region.N(...)` as RegionEmitter does, for a tile of work-items at a time.

    count: the lanes. lanes: values as they hold them. active: which of them are at work. faults: what they do where a check
    fails. elementwise: one instruction for all of them at once; turns: for one after the other. placeholders: operands that are
    not values of the kernel. private_room: where private variables lie. columns: what strided loads keep. emit_code: emits the
    segments of the region (`flow.region.emit_region`), with instructions by the table in `recipes`.
    """

    def __init__(self, plan: VectorPlan, region: ParallelRegion, emit_code: Callable[[VectorEmitter], None]):
        super().__init__(plan, region)
        self.plan: VectorPlan = plan
        self._emit_code = emit_code
        self.tile, self.shapes, self.privates, self.count = plan.tile, plan.shapes, plan.privates, plan.lanes
        self.structure = Structure(region.order)
        self.lanes = LaneValues(self, plan)
        self.active = ActiveLanes(plan.lanes)
        self.faults = Faults(self, plan.tile, self.active)
        self.placeholders = Placeholders(self)
        self.elementwise = Elementwise(self, self.lanes, self.active, self.placeholders)
        self.turns = LaneTurns(self, plan, self.lanes, self.active, self.placeholders)
        self.private_room = PrivateRoom(self, plan)
        self.columns = Columns(StridedLoads(self.structure, plan.shapes, plan.privates))

    # Around the region

    def emit_code(self) -> None:
        self.active.begin(self._remaining())
        self._emit_code(self)

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

    def loop_steps(self) -> dict[int, int]:
        """A single tile needs no loop."""
        tiles = self.tile.count(self.unit.spec.local_size)
        return {axis: self.tile.size[axis] for axis in range(3) if tiles[axis] > 1}

    def private_object(self, object_id: ObjectId) -> Object:
        instr = self.privates.variable_by_id(object_id[1])
        name = instr.name or "private variable"
        return Object(object_id, name, "private", self.private_room.address(instr, self.plan.private), private_bytes(instr))

    def zero_variable(self, instr: ir.Instr) -> None:
        self.private_room.fill(self.opening, instr, self.object(("alloca", id(instr))).base, "0")
        self.hooks.on_alloca(instr)

    # What lives across barriers: per tile the parts of each value, lane 0's only where that says all

    def spills_vectors(self, value: ir.Instr) -> bool:
        """Returns whether a value live across a synchronisation point is spilled as vectors."""
        return self.shapes.of(value).lane_offsets is None or self.shapes.is_left_divergently(value)

    def spill_types(self, value: ir.Instr) -> list[str]:
        return self.lanes.types(value, self.spills_vectors(value))

    def spill_parts(self, value: ir.Instr) -> list[str]:
        return self.lanes.parts(value, self.spills_vectors(value))

    def open_item(self) -> None:
        self.slot = emit_tile_number(self, self.tile, self.opening)
        for value in self.region.redefined:
            self.slots[id(value)] = self.make_slots(value, 64)
        with self.writing_to(self.opening):
            for value in self.region.live_in:
                self.lanes.bind(value, self.load_spilled(value), self.spills_vectors(value))
            for variable in self.plan.variables.values() if self.region.number == 0 else ():
                self.zero_variable(variable)

    # What the emitters of scalar code ask, where they emit for lane 0, for all lanes at once, or for one in its turn

    def is_nsw(self, instr: ir.Instr) -> bool:
        """In the lanes it is computed for. Proofs hold for active work-items only, so one of them must be active."""
        if not (self.unit.is_nsw(instr) or self.shapes.is_nsw(instr)):
            return False
        if all(self.shapes.of(value).uniform for value in (instr, *instr.operands)):
            return self.active.has_some
        return self.active.has_first

    def interval_of(self, value: ir.Value) -> tuple[int, int] | None:
        return self.shapes.interval_of(value)

    def part_types(self, value: ir.Value) -> list[str]:
        return self.lanes.own_types(value)

    def mask_inactive(self, type: ir.Type, flags: str) -> str:
        if not self.active.at_once or self.active.mask is None:
            return flags
        return self.body.op(f"and <{self.count} x i1> {flags}, {self.active.mask}")

    def unused_lanes(self, type: ir.Type) -> frozenset[int]:
        return self.elementwise.unused_lanes(type) if self.active.at_once else super().unused_lanes(type)

    def report(self, t: Text, site: DiagnosticSite, *values: str | int) -> None:
        if site.kind not in BENIGN_KINDS or not self.unit.deferred_checks or self.active.turn:
            super().report(t, site, *values)
        elif self.active.has_some:  # done once for all lanes, since each lane does it
            self.faults.count(t, site, self.active.mask, lambda lane: values)
        else:
            raise NotVectorizable("a note where no lane may be at work")

    def report_if(self, condition: str, site: DiagnosticSite, *values: str | int) -> None:
        super().report_if(self.active.emit_if_any(self.body, condition) if self.unit.checked else condition, site, *values)
