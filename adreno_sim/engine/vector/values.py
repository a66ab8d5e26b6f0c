"""Values as lanes hold them: an operand for lane 0, from which the others follow, or a vector for each component."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.provenance import Ptr, is_pointer
from ..emit.check import NotVectorizable
from ..emit.half_arithmetic import is_half
from ..emit.pointers import LaneOffsets, LanePtr
from ..emit.region import RegionEmitter
from ..llvm import constants
from ..llvm import vector_text as vt
from ..llvm.text import Text
from .vector_plan import VectorPlan


class LaneValues:
    """The values of one region. Values that are the same in all lanes, or follow from lane 0's, are with the emitter `e`, as in
    scalar code.
    """

    def __init__(self, e: RegionEmitter, plan: VectorPlan):
        self._e, self._shapes, self._count = e, plan.shapes, plan.lanes
        self._vectors: dict[int, list[str]] = {}
        self._pointers: dict[int, LanePtr] = {}

    # What a value is

    def varies(self, value: ir.Value) -> bool:
        """Returns whether a value is held as vectors here."""
        if not isinstance(value, ir.Instr):
            return False
        number = id(value)
        if number in self._vectors or number in self._pointers:
            return True
        if number in self._e.values or number in self._e.pointers:
            return False
        return self._shapes.of(value).lane_offsets is None

    def is_available(self, value: ir.Value) -> bool:
        """Returns whether this code holds a value: one that only another region computes, and nothing here uses, it does not."""
        held = (self._e.values, self._e.pointers, self._vectors, self._pointers, self._e.slots)
        return not isinstance(value, ir.Instr) or any(id(value) in names for names in held)

    def uniform(self, value: ir.Value) -> bool:
        """Returns whether all lanes have one value, held as a scalar."""
        return not self.varies(value) and self._shapes.of(value).uniform

    def lane_offsets(self, value: ir.Value) -> LaneOffsets:
        """Returns what is added to lane 0's value in each lane, where that is known."""
        found = self._shapes.of(value).lane_offsets
        assert found is not None
        return found

    def components(self, value: ir.Value) -> list[str]:
        """Returns one vector over the lanes for each component of a value."""
        if self.varies(value):
            known = self._vectors.get(id(value))
            return known if known is not None else self._e.load_slots(value)
        t, elem = self._e.body, llvm_types.elem_of(value.type)
        if not isinstance(value.type, ir.Vector):
            lane_offsets = self.lane_offsets(value)
            if any(lane_offsets):
                return [vt.emit_add_pattern(t, elem, self._e.value(value), lane_offsets)]
            return self._note_spread(value, self._e.value(value), [vt.splat(t, elem, self._e.value(value), self._count)])
        if isinstance(value, ir.Const):
            return [vt.splat(t, elem, text, self._count) for text in _constants(value)]
        vector = self._e.typed_operand(value)
        items = [t.op(f"extractelement {vector}, i32 {at}") for at in range(value.type.count)]
        return self._note_spread(value, self._e.value(value), [vt.splat(t, elem, item, self._count) for item in items])

    def _note_spread(self, value: ir.Value, source: str, parts: list[str]) -> list[str]:
        """Notes for each of `parts` the value that it is an element of in every lane, if they are halves; returns them."""
        if is_half(value.type) and source.startswith("%"):
            self._e.halves.spread.update({part: (source, value.type, at) for at, part in enumerate(parts)})
        return parts

    def wide(self, type: ir.Type) -> ir.Vector:
        """Returns the type of a component of values of `type`."""
        return vt.wide(llvm_types.elem_of(type), self._count)

    def spelled(self, type: ir.Type) -> str:
        """Returns the same in LLVM text."""
        return llvm_types.spell(self.wide(type))

    def define(self, instr: ir.Instr, parts: list[str]) -> None:
        """Binds the result of an instruction to one vector per component."""
        self._vectors[id(instr)] = parts
        if id(instr) in self._e.slots:
            for slot, part in zip(self._e.slots[id(instr)], parts, strict=True):
                self._e.body.do(f"store {self.spelled(instr.type)} {part}, ptr {slot}")
            del self._vectors[id(instr)]

    def is_scalar(self, instr: ir.Instr) -> bool:
        """Returns whether computing an instruction for lane 0 yields the result of all lanes."""
        if any(self.varies(v) for v in instr.operands):
            return False
        return isinstance(instr.type, ir.Void) or self._shapes.of(instr).lane_offsets is not None

    def pointer(self, value: ir.Value) -> LanePtr:
        """Returns the address of each lane of a pointer."""
        known = self._pointers.get(id(value))
        if known is not None:
            return known
        if self.varies(value):
            return self._pointer_from(value, self._e.load_slots(value)[0])
        return LanePtr(self._e.pointer(value), self.lane_offsets(value))

    def _pointer_from(self, value: ir.Value, offsets: str) -> LanePtr:
        """Returns a pointer made from a vector of byte offsets."""
        object_id = self._e.provenance.object_id(value)
        assert object_id is not None
        target = self._e.object(object_id)
        start = Ptr(target.base, target.length, 0, self._e.provenance.align(value), target)
        return LanePtr(start, (0,) * self._count, offsets)

    def define_pointer(self, instr: ir.Instr, where: LanePtr) -> None:
        """Binds the result of an instruction to the addresses of the lanes."""
        self._pointers[id(instr)] = where
        if id(instr) in self._e.slots:
            offsets = self.offsets(where)
            self._e.body.do(f"store <{self._count} x i64> {offsets}, ptr {self._e.slots[id(instr)][0]}")
            del self._pointers[id(instr)]

    def offsets(self, where: LanePtr, t: Text | None = None) -> str:
        """Returns the byte offsets of the lanes in the object, as i64."""
        t = t or self._e.body
        start = vt.emit_add_pattern(t, ir.Int(64), str(where.pointer.offset), where.lane_offsets)
        if where.index is None:
            return start
        steps = self.steps(where, t)
        if where.stride != 1:
            steps = t.op(f"mul <{self._count} x i64> {steps}, {vt.numbers(ir.Int(64), [where.stride] * self._count)}")
        return t.op(f"add <{self._count} x i64> {start}, {steps}")

    def steps(self, where: LanePtr, t: Text | None = None) -> str:
        """Returns the index vector as i64."""
        t = t or self._e.body
        assert where.index is not None
        if where.bits == 64:
            return where.index
        return t.op(f"sext <{self._count} x i{where.bits}> {where.index} to <{self._count} x i64>")

    # Parts: what a phi, a slot or a spilled value consists of

    def types(self, value: ir.Value, varying: bool) -> list[str]:
        """Returns the LLVM types of the parts of a value, as vectors or for lane 0."""
        if not varying:
            return self._e.scalar_types(value)
        if is_pointer(value):
            return [f"<{self._count} x i64>"]
        return [self.spelled(value.type)] * llvm_types.lanes_of(value.type)

    def own_types(self, value: ir.Value) -> list[str]:
        """Returns the LLVM types of the parts of a value in the form that it has."""
        return self.types(value, isinstance(value, ir.Instr) and self._shapes.of(value).lane_offsets is None)

    def parts(self, value: ir.Value, varying: bool, like: ir.Value | None = None) -> list[str]:
        """Returns the parts of a value, as vectors or for lane 0. Pointers have the form that `like` (default: the value) has."""
        if not varying:
            return self._e.parts(value, like)
        if is_pointer(value):
            return [self.offsets(self.pointer(value))]
        return self.components(value)

    def bind(self, instr: ir.Instr, parts: list[str], varying: bool) -> None:
        """Binds a value to its parts."""
        if not varying:
            self._e.define_parts(instr, parts)
        elif is_pointer(instr):
            self.define_pointer(instr, self._pointer_from(instr, parts[0]))
        else:
            self.define(instr, parts)

    def rebind(self, instr: ir.Instr, parts: list[str]) -> None:
        """Binds a value to vectors that lane 0's operand stood for so far."""
        self._e.values.pop(id(instr), None)
        self._e.pointers.pop(id(instr), None)
        self.bind(instr, parts, True)

    def known_parts(self, value: ir.Instr, varying: bool) -> list[str]:
        """Returns the parts of a value without emitting code."""
        if is_pointer(value):
            raise NotVectorizable("a pointer that is used behind a loop with several ways out")
        return self._vectors[id(value)] if varying else [self._e.values[id(value)]]


def _constants(value: ir.Const) -> list[str]:
    """Returns the components of a vector constant as text."""
    assert isinstance(value.type, ir.Vector)
    if isinstance(value.value, tuple):
        return [constants.text(item) for item in value.value]
    return [llvm_types.zero(value.type.elem)] * value.type.count
