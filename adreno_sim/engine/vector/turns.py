"""Instructions that lanes run in turn: a loop over those at work, which runs scalar code for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import ir, llvm_types
from ...ir.provenance import is_pointer
from ..emit.emitter import INSTRUCTIONS
from ..emit.pointers import LanePtr
from ..emit.region import RegionEmitter
from ..llvm import vector_text as vt
from .active import ActiveLanes
from .placeholders import Placeholders
from .values import LaneValues
from .vector_plan import VectorPlan


class LaneTurns:
    """Emits instructions lane by lane."""

    def __init__(self, e: RegionEmitter, plan: VectorPlan, lanes: LaneValues, active: ActiveLanes, placeholders: Placeholders):
        self._e, self._lanes, self._active, self._placeholders = e, lanes, active, placeholders
        self._tile, self._privates, self._count = plan.tile, plan.privates, plan.lanes

    def emit(self, instr: ir.Instr, emit: Callable[..., None] | None = None) -> None:
        """Emits a loop over the active lanes that runs an instruction as scalar code does."""
        emit = emit or INSTRUCTIONS[instr.op]
        e, t = self._e, self._e.body
        void = isinstance(instr.type, ir.Void)
        types = [] if void else self._lanes.types(instr, True)
        operands = [self._prepare_operand(v) for v in instr.operands]
        first, before = vt.bits_of(t, self._active.mask, self._count), t.label
        head = t.fresh("turn")
        t.jump(head)
        t.block(head)
        left, *sums = (t.open_phi(type) for type in ["i32", *types])
        count = e.unit.declare("llvm.cttz.i32", "i32", "i32, i1")
        lane = t.op(f"call {count}(i32 {left.name}, i1 false)")
        lane = t.op(f"and i32 {lane}, {self._count - 1}")  # lane 0, if none is at work
        with self._active.in_turn(lane), e.item_ids.at(self._local_ids(lane)):
            pseudo = replace(instr, operands=[o(lane) for o in operands])
            emit(e, pseudo)
            results = [] if void else self._insert(pseudo, types, [one.name for one in sums], lane)
        self._placeholders.release()
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
            self._lanes.bind(instr, results, True)

    def address(self, base: str, variable: ir.Instr, lane: str) -> str:
        """Returns the address of a lane's copy of a variable laid out lane by lane."""
        t = self._e.body
        slot = t.op(f"mul i64 {t.op(f'zext i32 {lane} to i64')}, {self._privates.slot_bytes(variable)}")
        return t.op(f"getelementptr i8, ptr {base}, i64 {slot}")

    def _prepare_operand(self, value: ir.Value) -> Callable[[str], ir.Value]:
        """Returns a function that yields an operand for one lane."""
        private = is_pointer(value) and self._privates.is_private(value)
        if not isinstance(value, ir.Instr) or (self._lanes.uniform(value) and not private):
            return lambda lane: value
        if is_pointer(value):
            where = self._lanes.pointer(value)
            offsets = self._lanes.offsets(where)
            return lambda lane: self._pointer(value, where, offsets, lane)
        parts = self._lanes.components(value)
        return lambda lane: self._value(value, parts, lane)

    def _value(self, value: ir.Value, parts: list[str], lane: str) -> ir.Value:
        t, spelled = self._e.body, self._lanes.spelled(value.type)
        items = [t.op(f"extractelement {spelled} {part}, i32 {lane}") for part in parts]
        if not isinstance(value.type, ir.Vector):
            return self._placeholders.make(value.type, items[0])
        whole, vector, elem = "zeroinitializer", llvm_types.spell(value.type), llvm_types.spell(value.type.elem)
        for at, item in enumerate(items):
            whole = t.op(f"insertelement {vector} {whole}, {elem} {item}, i32 {at}")
        return self._placeholders.make(value.type, whole)

    def _pointer(self, value: ir.Value, where: LanePtr, offsets: str, lane: str) -> ir.Value:
        offset = self._e.body.op(f"extractelement <{self._count} x i64> {offsets}, i32 {lane}")
        variable, base = self._privates.variable(value), where.pointer.base
        if variable is not None:
            base = self.address(base, variable, lane)
        align = self._e.provenance.align(value)
        return self._placeholders.make_pointer(
            value.type, replace(where.pointer, base=base, offset=offset, align=align, address=None)
        )

    def _insert(self, pseudo: ir.Instr, types: list[str], whole: list[str], lane: str) -> list[str]:
        """Returns the vectors with one lane's result inserted."""
        t, elem = self._e.body, llvm_types.spell(llvm_types.elem_of(pseudo.type))
        result = self._e.values.pop(id(pseudo))
        items = [result]
        if isinstance(pseudo.type, ir.Vector):
            vector = llvm_types.spell(pseudo.type)
            items = [t.op(f"extractelement {vector} {result}, i32 {at}") for at in range(pseudo.type.count)]
        return [
            t.op(f"insertelement {type} {old}, {elem} {item}, i32 {lane}")
            for type, old, item in zip(types, whole, items, strict=True)
        ]

    def _local_ids(self, lane: str) -> list[str]:
        """Returns the local ids of `lane`."""
        ids, t = list(self._e.item_ids.local), self._e.body
        for axis in range(3):
            lane_offsets = self._tile.lane_offsets(axis)
            if any(lane_offsets):
                own = t.op(f"extractelement <{self._count} x i64> {vt.numbers(ir.Int(64), lane_offsets)}, i32 {lane}")
                ids[axis] = t.op(f"add i64 {ids[axis]}, {own}")
        return ids
