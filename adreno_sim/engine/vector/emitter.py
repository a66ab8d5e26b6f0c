"""Emits one region of a kernel for a vector of work-items: the dispatch over instructions."""

from __future__ import annotations

from dataclasses import replace

from ...ir import ir, llvm_types
from ...ir.memory_ops import claimed_alignment
from ...ir.provenance import Object, ObjectId, is_pointer
from ...ir.queries import may_leave_vector, private_bytes
from ..analysis.parallel_regions import ParallelRegion
from ..analysis.segments import Segment
from ..analysis.shift_amounts import written_amount
from ..emit import undefined_behaviour
from ..emit.check import NotVectorizable
from ..emit.emitter import INSTRUCTIONS
from ..emit.region import value_bytes
from ..llvm import objects
from ..llvm import vector_text as vt
from ..llvm.text import Text
from . import calls, unroll
from .lane_access import memory, transfers
from .lane_access.patterns import Pattern, pattern_of
from .lane_access.strided_loads import StridedLoads
from .loops import LoopFlow
from .private_room import emit_private_fill, emit_tile_number, private_address
from .reinterpretation import emit_reinterpreted
from .structure import Loop, Structure
from .values import VectorPlan

_ELEMENTWISE = {
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "fpext",
    "fptrunc", "fptoui", "fptosi", "uitofp", "sitofp", "trunc", "zext", "sext", "udiv", "urem", "sdiv", "srem",
}  # fmt: skip
_NEEDS_ACTIVE_LANE = {"memcpy", "memmove", "memset", "frem", "extractelement", "insertelement", "bitcast", "icmp"}
"""Instructions that may be scalarised per lane."""
_UNSUPPORTED = {"atomicrmw": "atomic operations", "cmpxchg": "atomic operations", "fence": "memory fences"}


class VectorEmitter(LoopFlow):
    """Emits `i64 @region.N(...)` as RegionEmitter does, for a tile of work-items at a time."""

    def __init__(self, plan: VectorPlan, region: ParallelRegion):
        super().__init__(plan, region)
        self.structure = Structure(region.order)
        mixed = self.structure.mark_divergence(self.shapes.diverges)
        self.strided_loads = StridedLoads(self.structure, self.shapes, self.privates)
        for segment in mixed:
            for phi in self._phis_of(segment):
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
        self.emit_region()
        self.check_size()

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

    def rounds_at_once(self, loop: Loop, lines: list[str]) -> int:
        return unroll.choose_rounds(loop, self.structure, self.privates, lines, self.walked_rounds.get(loop, 1))

    # Instructions

    def needs_active_lane(self, instr: ir.Instr) -> bool:
        if instr.op in ("load", "store"):
            pointer = instr.operands[-1]
            if self._is_slow_without_lanes(instr):
                return True
            if self.privates.is_private(pointer):
                type = instr.type if instr.op == "load" else instr.operands[0].type
                return not self.privates.has_bytes(pointer, llvm_types.store_size(type))
            return self.shapes.of(pointer).uniform
        if instr.op == "call":
            return calls.needs_active_lane(instr)
        return instr.op in _NEEDS_ACTIVE_LANE

    def _is_slow_without_lanes(self, access: ir.Instr) -> bool:
        """Returns whether a load or store takes long though no lane is active: a gather on some processors, and everywhere a row
        in a page that is not there, some 80 ns. Behind the end of a loop or of the data an address may be anywhere."""
        pattern = pattern_of(self.shapes, self.privates, access)
        if pattern == Pattern.APART:
            return objects.machine().processor.skips_lanes_slowly
        return pattern == Pattern.ROW

    def emit_instr(self, instr: ir.Instr) -> None:
        if instr.op in _UNSUPPORTED:
            raise NotVectorizable(_UNSUPPORTED[instr.op])
        if instr.op in ("alloca", "undefine"):
            INSTRUCTIONS[instr.op](self, instr)
        elif instr.op == "load":
            self._load(instr)
        elif instr.op == "store":
            self._store(instr)
        elif instr.op == "call":
            calls.emit_call(self, instr)
        elif instr.op in ("memcpy", "memmove", "memset"):
            self._block(instr)
        elif instr.op == "gep" and not all(self.uniform(v) for v in instr.operands):
            memory.emit_gep(self, instr)
        elif self.is_scalar(instr):
            self._scalar(instr)
        else:
            self._vector(instr)

    def _scalar(self, instr: ir.Instr) -> None:
        """Emits an instruction for lane 0. Lane 0 of an unsigned value that is narrow in the others may be below zero."""
        if instr.op == "zext" and not self.uniform(instr) and self.unit.is_narrow(instr):
            self.define(instr, self.body.op(f"sext {self.typed_operand(instr.operands[0])} to {llvm_types.spell(instr.type)}"))
        else:
            INSTRUCTIONS[instr.op](self, instr)

    def _block(self, instr: ir.Instr) -> None:
        variable, copied = self.privates.initialized_variable(instr), self.privates.copied_variables(instr)
        if variable is not None:
            transfers.emit_fill(self, instr, variable)
        elif copied is not None and self.privates.granule(copied[0]) is not None:
            transfers.emit_copy(self, *copied)
        elif all(self.uniform(v) and not (is_pointer(v) and self.privates.is_private(v)) for v in instr.operands):
            INSTRUCTIONS[instr.op](self, instr)
        else:
            self.scalarize_per_lane(instr)

    def _vector(self, instr: ir.Instr) -> None:
        op = instr.op
        if op in ("shl", "lshr", "ashr"):
            self._check_amount(instr)
        if op in _ELEMENTWISE or (op == "icmp" and not any(is_pointer(v) for v in instr.operands)):
            self.define_lanes(instr, self.on_components(instr, INSTRUCTIONS[op]))
        elif op == "select":
            self._select(instr)
        elif op in ("bitcast", "addrspacecast", "freeze"):
            self._cast(instr)
        elif op in ("extractelement", "insertelement", "shufflevector"):
            self._rearranged(instr)
        elif op in ("frem", "icmp"):
            self.scalarize_per_lane(instr)
        else:
            raise NotVectorizable(f"instruction {op} on values that differ between work-items")

    def _check_amount(self, instr: ir.Instr) -> None:
        """Emits the check of a shift whose amount in the source is not below the width."""
        source, width = written_amount(instr), undefined_behaviour.elem_bits(instr.type)
        if not self.unit.checked or source is None or undefined_behaviour.elem_bits(source.type) <= (width - 1).bit_length():
            return
        spelled, elem = self.spelled(source.type), llvm_types.elem_of(source.type)
        limit = vt.numbers(elem, [width] * self.count)
        for part in self.components(source):
            self.raise_fault_lanes(self.body.op(f"icmp uge {spelled} {part}, {limit}"))

    def _select(self, instr: ir.Instr) -> None:
        condition, a, b = instr.operands
        chosen = self.components(condition)
        parts, others = self.lane_parts(a, True), self.lane_parts(b, True)
        types = self.lane_types(instr, True)
        if len(chosen) == 1:
            chosen = chosen * len(parts)
        flags = f"<{self.count} x i1>"
        done = [
            self.body.op(f"select {flags} {c}, {type} {x}, {type} {y}")
            for c, type, x, y in zip(chosen, types, parts, others, strict=True)
        ]
        self.bind(instr, done, True)

    def _cast(self, instr: ir.Instr) -> None:
        source = instr.operands[0]
        if is_pointer(instr):
            self.define_lane_ptr(instr, self.lane_ptr(source))
        elif instr.op == "freeze" or source.type == instr.type:
            self.define_lanes(instr, self.components(source))
        elif llvm_types.lanes_of(source.type) == llvm_types.lanes_of(instr.type):
            self.define_lanes(instr, self.on_components(instr, INSTRUCTIONS["bitcast"]))
        elif parts := emit_reinterpreted(self, self.components(source), source.type, instr.type):
            self.define_lanes(instr, parts)
        else:
            self.scalarize_per_lane(instr)

    def _rearranged(self, instr: ir.Instr) -> None:
        """Emits moves between components. They cost nothing: each component is a value of its own."""
        if instr.op == "shufflevector":
            both = self.components(instr.operands[0]) + self.components(instr.operands[1])
            self.define_lanes(instr, [both[max(lane, 0)] for lane in instr.mask])
            return
        vector, index = instr.operands[0], instr.operands[-1]
        if not isinstance(index, ir.Const) or may_leave_vector(instr):
            self.scalarize_per_lane(instr)
            return
        parts = list(self.components(vector))
        at = index.value % len(parts) if isinstance(index.value, int) else 0
        if instr.op == "extractelement":
            self.define_lanes(instr, [parts[at]])
        else:
            parts[at] = self.components(instr.operands[1])[0]
            self.define_lanes(instr, parts)

    # Memory

    def _load(self, instr: ir.Instr) -> None:
        pointer = instr.operands[0]
        if isinstance(instr.type, (ir.Pointer, ir.Array, ir.Struct, ir.Image, ir.Sampler, ir.Event)):
            raise NotVectorizable(f"a load of a {instr.type}")
        if not self.privates.is_private(pointer) and self.uniform(pointer):
            INSTRUCTIONS["load"](self, instr)
            return
        transfers.emit_load(self, instr, pointer, self.lane_ptr(pointer), claimed_alignment(instr))

    def _store(self, instr: ir.Instr) -> None:
        value, pointer = instr.operands
        type = value.type
        if is_pointer(value) or isinstance(type, (ir.Pointer, ir.Array, ir.Struct, ir.Image, ir.Sampler, ir.Event)):
            raise NotVectorizable(f"a store of a {type}")
        if not self.privates.is_private(pointer) and self.uniform(pointer):
            if self.uniform(value):
                INSTRUCTIONS["store"](self, instr)
                return
            last = memory.emit_last_lane(self, self.components(value), type)
            INSTRUCTIONS["store"](self, replace(instr, operands=[self.placeholder(type, last), pointer]))
            self.release_placeholders()
            return
        transfers.emit_store(self, type, self.components(value), pointer, self.lane_ptr(pointer), claimed_alignment(instr))
