"""Values of the vector emitter: one operand for lane 0, or one vector per component; and instructions applied to every lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir import ir, llvm_types
from ...ir.provenance import Ptr, is_pointer
from ..analysis.parallel_regions import ParallelRegion
from ..emit.check import NotVectorizable
from ..emit.diagnostic_sites import BENIGN_KINDS, DiagnosticSite
from ..emit.emitter import INSTRUCTIONS
from ..emit.event_counters import count_event
from ..emit.half_arithmetic import is_half, keep_normal
from ..emit.pointers import LaneOffsets, LanePtr
from ..emit.region import RegionEmitter
from ..llvm import constants
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .lane_access.strided_loads import StridedLoads
from .structure import Loop, Structure
from .vector_plan import VectorPlan


class LaneValues(RegionEmitter):
    """Values and how instructions access them. `mask` holds the active lanes; None means all."""

    structure: Structure
    strided_loads: StridedLoads

    def __init__(self, plan: VectorPlan, region: ParallelRegion):
        super().__init__(plan, region)
        self.plan: VectorPlan = plan
        self.tile = plan.tile
        self.count = plan.tile.lanes
        self.shapes = plan.shapes
        self.privates = plan.privates
        self.lanes: dict[int, list[str]] = {}
        self.lane_ptrs: dict[int, LanePtr] = {}
        self.columns_bytes = 0  # of the columns that loads of rows keep
        self.walked_rounds: dict[Loop, int] = {}  # of loops along rows: the iterations for which columns are loaded at once
        self.tile_number = ""  # of the tile in its group
        self.mask: str | None = None
        self.nonempty_mask: str | None = None  # a mask that is known to hold some lane here
        self.current_lane = ""  # where lanes take turns, the one whose turn it is
        self._vectorizing = False  # what is emitted is one instruction for all lanes
        self._component_is_used = True  # that something uses what it yields
        self._placeholders: list[ir.Instr] = []

    # What a value is

    def varies(self, value: ir.Value) -> bool:
        """Returns whether a value is held as vectors here."""
        if not isinstance(value, ir.Instr):
            return False
        number = id(value)
        if number in self.lanes or number in self.lane_ptrs:
            return True
        if number in self.values or number in self.pointers:
            return False
        return self.shapes.of(value).lane_offsets is None

    def is_available(self, value: ir.Value) -> bool:
        """Returns whether this code holds a value: one that only another region computes, and nothing here uses, it does not."""
        held = (self.values, self.pointers, self.lanes, self.lane_ptrs, self.slots)
        return not isinstance(value, ir.Instr) or any(id(value) in names for names in held)

    def uniform(self, value: ir.Value) -> bool:
        """Returns whether all lanes have one value, held as a scalar."""
        return not self.varies(value) and self.shapes.of(value).uniform

    def lane_offsets(self, value: ir.Value) -> LaneOffsets:
        found = self.shapes.of(value).lane_offsets
        assert found is not None
        return found

    def components(self, value: ir.Value) -> list[str]:
        """Returns one vector over the lanes for each component of a value."""
        if self.varies(value):
            known = self.lanes.get(id(value))
            return known if known is not None else self.load_slots(value)
        t, elem = self.body, llvm_types.elem_of(value.type)
        if not isinstance(value.type, ir.Vector):
            lane_offsets = self.lane_offsets(value)
            if any(lane_offsets):
                return [vt.emit_add_pattern(t, elem, self.value(value), lane_offsets)]
            return self._note_spread(value, self.value(value), [vt.splat(t, elem, self.value(value), self.count)])
        if isinstance(value, ir.Const):
            return [vt.splat(t, elem, text, self.count) for text in _constants(value)]
        vector = self.typed_operand(value)
        items = [t.op(f"extractelement {vector}, i32 {at}") for at in range(value.type.count)]
        return self._note_spread(value, self.value(value), [vt.splat(t, elem, item, self.count) for item in items])

    def _note_spread(self, value: ir.Value, source: str, parts: list[str]) -> list[str]:
        """Notes of which value each of `parts` is an element in every lane, if they are halves; returns them."""
        if is_half(value.type) and source.startswith("%"):
            self.spread_halves.update({part: (source, value.type, at) for at, part in enumerate(parts)})
        return parts

    def wide(self, type: ir.Type) -> ir.Vector:
        return vt.wide(llvm_types.elem_of(type), self.count)

    def spelled(self, type: ir.Type) -> str:
        return llvm_types.spell(self.wide(type))

    def define_lanes(self, instr: ir.Instr, parts: list[str]) -> None:
        """Binds the result of an instruction to one vector per component."""
        self.lanes[id(instr)] = parts
        if id(instr) in self.slots:
            for slot, part in zip(self.slots[id(instr)], parts, strict=True):
                self.body.do(f"store {self.spelled(instr.type)} {part}, ptr {slot}")
            del self.lanes[id(instr)]

    def is_scalar(self, instr: ir.Instr) -> bool:
        """Returns whether computing an instruction for lane 0 yields the result of all lanes."""
        if any(self.varies(v) for v in instr.operands):
            return False
        return isinstance(instr.type, ir.Void) or self.shapes.of(instr).lane_offsets is not None

    def lane_ptr(self, value: ir.Value) -> LanePtr:
        """Returns the address of each lane of a pointer."""
        known = self.lane_ptrs.get(id(value))
        if known is not None:
            return known
        if self.varies(value):
            return self.lane_ptr_from(value, self.load_slots(value)[0])
        return LanePtr(self.pointer(value), self.lane_offsets(value))

    def lane_ptr_from(self, value: ir.Value, offsets: str) -> LanePtr:
        """Returns a pointer made from a vector of byte offsets."""
        object_id = self.provenance.object_id(value)
        assert object_id is not None
        target = self.object(object_id)
        start = Ptr(target.base, target.length, 0, self.provenance.align(value), target)
        return LanePtr(start, (0,) * self.count, offsets)

    def define_lane_ptr(self, instr: ir.Instr, where: LanePtr) -> None:
        self.lane_ptrs[id(instr)] = where
        if id(instr) in self.slots:
            offsets = self.offsets(where)
            self.body.do(f"store <{self.count} x i64> {offsets}, ptr {self.slots[id(instr)][0]}")
            del self.lane_ptrs[id(instr)]

    def offsets(self, where: LanePtr, t: Text | None = None) -> str:
        """Returns the byte offsets of the lanes in the object, as i64."""
        t = t or self.body
        start = vt.emit_add_pattern(t, ir.Int(64), str(where.pointer.offset), where.lane_offsets)
        if where.index is None:
            return start
        steps = self.steps(where, t)
        if where.stride != 1:
            steps = t.op(f"mul <{self.count} x i64> {steps}, {vt.numbers(ir.Int(64), [where.stride] * self.count)}")
        return t.op(f"add <{self.count} x i64> {start}, {steps}")

    def steps(self, where: LanePtr, t: Text | None = None) -> str:
        """Returns the index vector as i64."""
        t = t or self.body
        assert where.index is not None
        if where.bits == 64:
            return where.index
        return t.op(f"sext <{self.count} x i{where.bits}> {where.index} to <{self.count} x i64>")

    # Parts: what a phi, a slot or a spilled value consists of

    def lane_types(self, value: ir.Value, varying: bool) -> list[str]:
        if not varying:
            return super().part_types(value)
        if is_pointer(value):
            return [f"<{self.count} x i64>"]
        return [self.spelled(value.type)] * llvm_types.lanes_of(value.type)

    def part_types(self, value: ir.Value) -> list[str]:
        return self.lane_types(value, isinstance(value, ir.Instr) and self.shapes.of(value).lane_offsets is None)

    def lane_parts(self, value: ir.Value, varying: bool, like: ir.Value | None = None) -> list[str]:
        """Returns the parts of a value, as vectors or for lane 0. Pointers have the form that `like` (default: the value) has."""
        if not varying:
            return super().parts(value, like)
        if is_pointer(value):
            return [self.offsets(self.lane_ptr(value))]
        return self.components(value)

    def bind(self, instr: ir.Instr, parts: list[str], varying: bool) -> None:
        """Binds a value to its parts."""
        if not varying:
            self.define_parts(instr, parts)
        elif is_pointer(instr):
            self.define_lane_ptr(instr, self.lane_ptr_from(instr, parts[0]))
        else:
            self.define_lanes(instr, parts)

    # One instruction for all lanes at once

    def placeholder(self, type: ir.Type, operand: str) -> ir.Instr:
        """Returns a value that is `operand`, for the emitters of single instructions."""
        value = ir.Instr("phi", type)
        self.values[id(value)] = operand
        self._placeholders.append(value)
        return value

    def on_components(self, instr: ir.Instr, emit: Callable[..., None]) -> list[str]:
        """Emits an elementwise instruction on each component. Operands with one component serve all."""
        total = llvm_types.lanes_of(instr.type)
        operands = [self._wide_operands(v, total) for v in instr.operands]
        results, self._vectorizing = [], True
        type = self.wide(instr.type)
        used = self.unit.lane_uses(self.function).demand(instr).any if total > 1 else {0}
        for at in range(total):
            self._component_is_used = at in used
            pseudo = ir.Instr(instr.op, type, [o[at] for o in operands], instr.loc, instr.pred, instr.callee)
            emit(self, pseudo)
            results.append(self.values.pop(id(pseudo)))
        self._vectorizing = False
        self.release_placeholders()
        return results

    def _wide_operands(self, value: ir.Value, total: int) -> Sequence[ir.Value]:
        type = self.wide(value.type)
        if isinstance(value, ir.Const):
            items = value.value if isinstance(value.value, tuple) else (value,)
            same: list[ir.Value] = []
            for item in items:
                whole = (ir.Const(item.type, item.value),) * self.count
                same.append(ir.Const(type, whole) if isinstance(item.value, int) else ir.Const(type, None))
            return same if len(same) == total else same * total
        components = self.components(value)
        if is_half(type):
            keep_normal(self, value, *components)
        parts = [self.placeholder(type, component) for component in components]
        return parts if len(parts) == total else parts * total

    def release_placeholders(self) -> None:
        """Drops the placeholders."""
        for value in self._placeholders:
            self.values.pop(id(value), None)
            self.pointers.pop(id(value), None)
        self._placeholders.clear()

    # Lanes in turn

    def scalarize_per_lane(self, instr: ir.Instr, emit: Callable[..., None] | None = None) -> None:
        """Emits a loop over the active lanes that runs an instruction as scalar code does."""
        emit = emit or INSTRUCTIONS[instr.op]
        t = self.body
        void = isinstance(instr.type, ir.Void)
        types = [] if void else self.lane_types(instr, True)
        operands = [self._prepare_operand(v) for v in instr.operands]
        first, before = vt.bits_of(t, self.mask, self.count), t.label
        head = t.fresh("turn")
        t.jump(head)
        t.block(head)
        left, *sums = (t.open_phi(type) for type in ["i32", *types])
        count = self.unit.declare("llvm.cttz.i32", "i32", "i32, i1")
        lane = t.op(f"call {count}(i32 {left.name}, i1 false)")
        self.current_lane = lane = t.op(f"and i32 {lane}, {self.count - 1}")  # lane 0, if none is at work
        outer_ids = self._enter_lane(lane)
        pseudo = replace(instr, operands=[o(lane) for o in operands])
        emit(self, pseudo)
        results = [] if void else self._insert_lane(pseudo, types, [one.name for one in sums], lane)
        self._leave_lane(outer_ids)
        self.current_lane = ""
        self.release_placeholders()
        rest = t.op(f"and i32 {left.name}, {t.op(f'sub i32 {left.name}, 1')}")
        more = t.op(f"icmp ne i32 {rest}, 0")
        done = t.fresh("turned")
        last = t.label
        t.branch(more, head, done)
        left.add((first, before), (rest, last))
        for one, result in zip(sums, results, strict=True):
            one.add(("zeroinitializer", before), (result, last))
        t.block(done)
        if not void:
            self.bind(instr, results, True)

    def _prepare_operand(self, value: ir.Value) -> Callable[[str], ir.Value]:
        """Returns a function that yields an operand for one lane."""
        private = is_pointer(value) and self.privates.is_private(value)
        if not isinstance(value, ir.Instr) or (self.uniform(value) and not private):
            return lambda lane: value
        if is_pointer(value):
            where = self.lane_ptr(value)
            offsets = self.offsets(where)
            return lambda lane: self._lane_pointer(value, where, offsets, lane)
        parts = self.components(value)
        return lambda lane: self._lane_value(value, parts, lane)

    def _lane_value(self, value: ir.Value, parts: list[str], lane: str) -> ir.Value:
        t, spelled = self.body, self.spelled(value.type)
        items = [t.op(f"extractelement {spelled} {part}, i32 {lane}") for part in parts]
        if not isinstance(value.type, ir.Vector):
            return self.placeholder(value.type, items[0])
        whole, vector, elem = "zeroinitializer", llvm_types.spell(value.type), llvm_types.spell(value.type.elem)
        for at, item in enumerate(items):
            whole = t.op(f"insertelement {vector} {whole}, {elem} {item}, i32 {at}")
        return self.placeholder(value.type, whole)

    def _lane_pointer(self, value: ir.Value, where: LanePtr, offsets: str, lane: str) -> ir.Value:
        t = self.body
        offset = t.op(f"extractelement <{self.count} x i64> {offsets}, i32 {lane}")
        placeholder = self.placeholder(value.type, "")
        variable, base = self.privates.variable(value), where.pointer.base
        if variable is not None:
            base = self.lane_slot(base, variable, lane)
        align = self.provenance.align(value)
        self.pointers[id(placeholder)] = replace(where.pointer, base=base, offset=offset, align=align, address=None)
        return placeholder

    def lane_slot(self, base: str, variable: ir.Instr, lane: str) -> str:
        """Returns the address of a lane's copy of a variable laid out lane by lane."""
        t = self.body
        slot = t.op(f"mul i64 {t.op(f'zext i32 {lane} to i64')}, {self.privates.slot_bytes(variable)}")
        return t.op(f"getelementptr i8, ptr {base}, i64 {slot}")

    def _insert_lane(self, pseudo: ir.Instr, types: list[str], whole: list[str], lane: str) -> list[str]:
        """Returns the vectors with one lane's result inserted."""
        t, elem = self.body, llvm_types.spell(llvm_types.elem_of(pseudo.type))
        result = self.values.pop(id(pseudo))
        items = [result]
        if isinstance(pseudo.type, ir.Vector):
            vector = llvm_types.spell(pseudo.type)
            items = [t.op(f"extractelement {vector} {result}, i32 {at}") for at in range(pseudo.type.count)]
        return [
            t.op(f"insertelement {type} {old}, {elem} {item}, i32 {lane}")
            for type, old, item in zip(types, whole, items, strict=True)
        ]

    def _enter_lane(self, lane: str) -> list[str]:
        """Sets the local ids to those of `lane`. Returns the previous ones."""
        outer_ids = list(self.item_ids.local)
        for axis in range(3):
            lane_offsets = self.tile.lane_offsets(axis)
            if any(lane_offsets):
                own = self._lane_offset(lane, lane_offsets)
                self.item_ids.local[axis] = self.body.op(f"add i64 {outer_ids[axis]}, {own}")
        return outer_ids

    def _leave_lane(self, outer_ids: list[str]) -> None:
        self.item_ids.local[:] = outer_ids

    def _lane_offset(self, lane: str, lane_offsets: LaneOffsets) -> str:
        vector = vt.numbers(ir.Int(64), lane_offsets)
        return self.body.op(f"extractelement <{self.count} x i64> {vector}, i32 {lane}")

    # Checks: vector code only sets the fault flag, and a launch that set it is rerun in scalar code. Benign events are
    # counted here

    def raise_fault_lanes(self, bad: str, t: Text | None = None) -> None:
        """Sets the fault flag if any lane of `bad` is active."""
        t = t or self.body
        active = vt.emit_and_masks(t, bad, self.mask, self.count)
        assert active is not None
        self.raise_fault(vt.any_of(t, active, self.count), t)

    def raise_fault(self, bad: str, t: Text) -> None:
        """Sets the fault flag if the i1 `bad` is true."""
        self.unit.may_fail = True
        flag = t.op(f"zext i1 {bad} to i8")
        raised = t.op("load i8, ptr %sticky")
        t.do(f"store i8 {t.op(f'or i8 {raised}, {flag}')}, ptr %sticky")

    def report(self, t: Text, site: DiagnosticSite, *values: str | int) -> None:
        if (
            site.kind in BENIGN_KINDS and self.unit.deferred_checks and not self.current_lane
        ):  # done once for all lanes, each of which does it
            if self.mask not in (None, self.nonempty_mask):
                raise NotVectorizable("a note where no lane may be at work")
            self._count_event(t, site, self.mask, lambda lane: values)
        else:
            super().report(t, site, *values)

    def count_event_lanes(self, which: str, site: DiagnosticSite, values: Callable[[Text, str], Sequence[str | int]]) -> None:
        """Counts a benign event for the active lanes of `which`. `values` emits the reported values of one lane (an i32)."""
        t = self.body
        active = vt.emit_and_masks(t, which, self.mask, self.count)
        assert active is not None
        counted, on = t.fresh("told"), t.fresh("on")
        t.branch(vt.any_of(t, active, self.count), counted, on, unlikely=True)
        cold = t.aside()
        cold.block(counted)
        self._count_event(cold, site, active, lambda lane: values(cold, lane))
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)

    def _count_event(
        self, t: Text, site: DiagnosticSite, which: str | None, values: Callable[[str], Sequence[str | int]]
    ) -> None:
        """Counts `site` for the lanes `which`, of which there is at least one. Lane numbers grow in work-item order."""
        bits = vt.bits_of(t, which, self.count)
        population = self.unit.declare("llvm.ctpop.i32", "i32", "i32")
        times = t.op(f"zext i32 {t.op(f'call {population}(i32 {bits})')} to i64")

        def first() -> tuple[str, str, Sequence[str | int]]:
            lowest = self.unit.declare("llvm.cttz.i32", "i32", "i32, i1")
            lane = t.op(f"call {lowest}(i32 {bits}, i1 true)")
            group, local = self.report_ids(t)
            own = t.op(f"extractelement <{self.count} x i64> {vt.numbers(ir.Int(64), self._slots())}, i32 {lane}")
            return group, t.op(f"add i64 {local}, {own}"), values(lane)

        count_event(self, t, site, times, first)

    def _slots(self) -> list[int]:
        """Returns each lane's difference from lane 0's linear local id."""
        x, y, _ = self.unit.spec.local_size
        axes = zip(*(self.tile.lane_offsets(axis) for axis in range(3)), strict=True)
        return [a + x * (b + y * c) for a, b, c in axes]

    def mask_inactive(self, type: ir.Type, flags: str) -> str:
        if not self._vectorizing or self.mask is None:
            return flags
        return self.body.op(f"and <{self.count} x i1> {flags}, {self.mask}")

    def unused_lanes(self, type: ir.Type) -> frozenset[int]:
        if self._vectorizing:
            return frozenset() if self._component_is_used else frozenset(range(llvm_types.lanes_of(type)))
        return super().unused_lanes(type)

    def if_any_active(self, condition: str) -> str:
        """Returns an i1: a condition on lane 0's operands holds, and some lane is active."""
        if self.mask in (None, self.nonempty_mask) or self._vectorizing or self.current_lane:
            return condition
        assert self.mask is not None
        return self.body.op(f"and i1 {condition}, {vt.any_of(self.body, self.mask, self.count)}")

    def report_if(self, condition: str, site: DiagnosticSite, *values: str | int) -> None:
        super().report_if(self.if_any_active(condition) if self.unit.checked else condition, site, *values)


def _constants(value: ir.Const) -> list[str]:
    """Returns the components of a vector constant as text."""
    assert isinstance(value.type, ir.Vector)
    if isinstance(value.value, tuple):
        return [constants.text(item) for item in value.value]
    return [llvm_types.zero(value.type.elem)] * value.type.count
