"""Uninitialised reads in vector code: the lanes' init shadow has the layout of the memory itself, so a check repeats the access
in the shadow. A variable that may have no value keeps a launch out of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_store, touches_memory
from ...ir.provenance import Object, Ptr
from ...records import dataclass
from ..analysis.lane_uses import LaneUses
from ..emit.check import NotVectorizable
from ..emit.emitter import Emitter
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.pointers import LanePtr
from ..llvm import vector_text as vt
from ..shadow import init_shadow
from ..shadow.access_info import init_shadow_of_argument, shadow_spec
from ..shadow.sinks import find_sinks
from ..shadow.undefined_values import PADDING, VARIABLE, UndefinedValues
from ..vector.emitter import VectorEmitter
from ..vector.lane_access import transfers
from ..vector.lane_access.memory import emit_load_elements, emit_store_elements
from ..vector.vector_plan import VectorPlan
from .private_elements import PrivateElements, find_variables

if TYPE_CHECKING:
    from ..emit.image_refs import ImageRef


def check_variables(kernel: ir.Function, undefined: UndefinedValues) -> None:
    """Raises NotVectorizable if it may matter that a variable has no value, or a store leave some of its bytes undefined."""
    for instr in (i for block in kernel.blocks for i in block.instrs):
        stored = _stored_operand(instr)
        for operand in [*(value for value, _ in find_sinks(instr)), *([stored] if stored is not None else [])]:
            reasons = frozenset().union(*undefined.lanes(operand).values())
            if VARIABLE in reasons or (operand is stored and PADDING in reasons):
                raise NotVectorizable("a variable that may have no value")
        if any(map(undefined.lanes, instr.operands)) and _writes_result(instr):
            raise NotVectorizable("a variable that may have no value")


def may_read_unwritten(plan: KernelPlan) -> bool:
    """Returns whether some local array is not proven to be written before it is read."""
    written = {which for _, which in plan.unit.spec.proofs.written_locals}
    return not plan.unit.local_offsets.keys() <= written


def _stored_operand(instr: ir.Instr) -> ir.Value | None:
    """Returns the value that an instruction only stores, to memory or an image."""
    if instr.op == "memset":
        return instr.operands[1]
    if is_plain_store(instr):
        return instr.operands[0]
    return instr.operands[-1] if builtin_of(instr).image == "write" else None


def _writes_result(instr: ir.Instr) -> bool:
    """Returns whether an instruction stores what it computes."""
    return instr.op == "call" and touches_memory(instr) and _stored_operand(instr) is None


@dataclass
class VectorDefinednessPlan(CheckPlan):
    """What the regions share. The init shadow of local memory, one byte per byte, is at `local` of the arena. by_element: the
    private variables that have a word for each element (`private_elements`)."""

    uses: LaneUses = field(kw_only=True)
    local: int = 0
    by_element: frozenset[int] = frozenset()

    @staticmethod
    def make(plan: KernelPlan, reason: str, uses: LaneUses) -> VectorDefinednessPlan:
        nbytes = plan.unit.local_bytes if may_read_unwritten(plan) else 0
        local = plan.unit.reserve_arena(nbytes)
        zeroed = [(local, nbytes)] if nbytes else []
        assert isinstance(plan, VectorPlan)
        return VectorDefinednessPlan(
            reason,
            zeroed_per_group=zeroed,
            shadows_private=True,
            uses=uses,
            local=local,
            by_element=find_variables(plan, plan.unit.kernel),
        )

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, VectorEmitter)
        return VectorDefinedness(e, self)


class VectorDefinedness(Instrumentation):
    """The callbacks for one region emitter."""

    def __init__(self, e: VectorEmitter, plan: VectorDefinednessPlan):
        self.e, self.plan = e, plan
        self._private: dict[object, str] = {}
        self._elements = PrivateElements(e, plan.by_element, plan.private_rooms)

    # One access that all lanes share, or one lane's in its turn

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        init = self._shadow_address(pointer)
        if init is None:
            return
        wanted = self._used_lanes(llvm_types.lanes_of(type), instr)
        if len(wanted) == llvm_types.lanes_of(type):
            self.e.faults.raise_if_any(init_shadow.emit_any_uninit(self.e.body, init, type))
        elif wanted:
            flags = init_shadow.emit_uninit_lanes(self.e.body, init, type)
            self.e.faults.raise_if_any(init_shadow.emit_or(self.e.body, [flags[lane] for lane in wanted]))

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        init = self._shadow_address(pointer)
        if init is not None:
            init_shadow.emit_mark(self.e.body, init, type)

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        raise NotVectorizable("atomic operations")

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        init = self._shadow_address(pointer)
        if init is not None:
            init_shadow.emit_fill(self.e.body, self.e.unit, init, str(nbytes))

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        init = self._shadow_address(target)
        if init is not None:
            init_shadow.emit_copy(
                self.e.body, self.e.unit, init, self._shadow_address(source) if source is not None else None, nbytes
            )

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        base = self._image_shadow(image)
        if base is None or not self._used_lanes(4, instr):
            return
        init = self.e.body.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        self.e.faults.raise_if_any(init_shadow.emit_any_uninit(self.e.body, init, ir.Vector(ir.Int(8), image.format.texel_bytes)))

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        base = self._image_shadow(image)
        if base is not None:
            init_shadow.emit_mark(self.e.body, self.e.body.op(f"getelementptr i8, ptr {base}, i64 {offset}"), type)

    def on_alloca(self, variable: ir.Instr) -> None:
        if self._elements.holds(variable):
            self._elements.emit_clear(self.e.opening, variable)
            return
        self.e.private_room.fill(self.e.opening, variable, self._private_base(variable), "0")

    def on_undefine(self, variable: ir.Instr) -> None:
        e, mask = self.e, self.e.active.mask
        if self._elements.holds(variable):
            self._elements.emit_forget(variable, mask)
        elif mask is None:
            e.private_room.fill(e.body, variable, self._private_base(variable), "0")
        else:
            e.private_room.clear_lanes(variable, self._private_base(variable), mask)

    # All lanes

    def on_vector_load(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        wanted = self._used_lanes(count, self.e.current)
        if variable is not None and self._elements.holds(variable):
            if wanted:
                self.e.faults.raise_if(self._elements.emit_missing(where, variable, wanted, mask))
            return
        shadow, word = self._in_shadow(where), _word(elem)
        if shadow is not None and wanted:
            parts = transfers.emit_load_at(self.e, shadow, variable, word, count, mask, 1)
            self._emit_check(word, [parts[lane] for lane in wanted], mask)

    def on_vector_store(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        if variable is not None and self._elements.holds(variable):
            self._elements.emit_mark(where, variable, count, mask)
            return
        shadow, word = self._in_shadow(where), _word(elem)
        if shadow is not None:
            transfers.emit_store_at(self.e, shadow, variable, word, [self._all_init(word)] * count, mask, 1)

    def on_vector_copy(
        self, there: LanePtr, variable: ir.Instr, where: LanePtr, source: ir.Instr, elem: ir.Int, mask: str | None
    ) -> None:
        if self._elements.holds(variable):
            self._elements.emit_copy(there, variable, where, source, mask)
            return
        far, near = self._in_shadow(where), self._in_shadow(there)
        assert far is not None
        assert near is not None
        part = transfers.emit_load_at(self.e, far, source, elem, 1, mask, 1)
        transfers.emit_store_at(self.e, near, variable, elem, part, mask, 1)

    def on_vector_fill(self, variable: ir.Instr) -> None:
        if self._elements.holds(variable):
            self._elements.emit_mark_all(self.e.body, variable)
            return
        self.e.private_room.fill(self.e.body, variable, self._private_base(variable), "1")

    def on_vector_image_read(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        base = self._image_shadow(image)
        if base is None or not self._used_lanes(4, self.e.current):
            return
        word, count = _texel_words(image)
        self._emit_check(word, emit_load_elements(self.e, where(base), word, count, mask, 1), mask)

    def on_vector_image_write(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        base = self._image_shadow(image)
        if base is not None:
            word, count = _texel_words(image)
            emit_store_elements(self.e, where(base), word, [self._all_init(word)] * count, mask, 1)

    # Looking

    def _used_lanes(self, count: int, instr: ir.Instr | None) -> list[int]:
        """Returns the used lanes of a value of `count` lanes."""
        if instr is None or llvm_types.lanes_of(instr.type) != count:
            return list(range(count))
        return sorted(self.plan.uses.demand(instr).any)

    def _all_init(self, word: ir.Int) -> str:
        """Returns a word with all bytes initialised, in every lane."""
        return vt.numbers(word, [int.from_bytes(b"\1" * (word.bits // 8), "little")] * self.e.count)

    def _emit_check(self, word: ir.Int, parts: Sequence[str], mask: str | None) -> None:
        """Sets the fault flag if a lane in `mask` has a word with an uninitialised byte."""
        e, t = self.e, self.e.body
        common = parts[0]
        for part in parts[1:]:
            common = t.op(f"and {e.lanes.spelled(word)} {common}, {part}")
        bad = t.op(f"icmp ne {e.lanes.spelled(word)} {common}, {self._all_init(word)}")
        e.faults.raise_accessing(bad, mask)

    # Where init shadows lie

    def _in_shadow(self, where: LanePtr) -> LanePtr | None:
        """Returns the same address in the shadow of its object; None if all of it always counts as initialised."""
        base = self._shadow_base(where.pointer.object)
        return None if base is None else replace(where, pointer=replace(where.pointer, base=base, address=None))

    def _shadow_address(self, pointer: Ptr) -> str | None:
        base = self._shadow_base(pointer.object)
        if base is None:
            return None
        variable = self._private_variable(pointer.object)
        if variable is not None and self.e.active.turn:
            base = self.e.turns.address(base, variable, self.e.active.turn)
        return base if pointer.offset == 0 else self.e.body.op(f"getelementptr i8, ptr {base}, i64 {pointer.offset}")

    def _shadow_base(self, target: Object | None) -> str | None:
        """Returns the init shadow of an object; None if all of it always counts as initialised."""
        if target is None:
            raise NotVectorizable("a pointer whose object is not known when compiling")
        variable = self._private_variable(target)
        if variable is not None:
            return self._private_base(variable)
        if target.kind == "local":
            if target.id in self.e.unit.spec.proofs.written_locals:
                return None
            offset = self.plan.local + self.e.unit.local_offsets[target.id[1]]
            return self.e.prologue.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        if target.kind != "buffer":
            return None
        assert isinstance(target.id[1], int)
        return self._argument_shadow(target.id[1])

    def _image_shadow(self, image: ImageRef) -> str | None:
        return self._argument_shadow(image.param.index)

    def _argument_shadow(self, index: int) -> str | None:
        spec = shadow_spec(self.e, index)
        return None if spec is None or spec.written_whole else init_shadow_of_argument(self.e, index)

    def _private_variable(self, target: Object | None) -> ir.Instr | None:
        return self.e.privates.variable_by_id(target.id[1]) if target is not None and target.kind == "private" else None

    def _private_base(self, variable: ir.Instr) -> str:
        assert not self._elements.holds(variable)
        if id(variable) not in self._private:
            self._private[id(variable)] = self.e.private_room.address(variable, self.plan.private_rooms)
        return self._private[id(variable)]


def _word(elem: ir.Type) -> ir.Int:
    return ir.Int(8 * llvm_types.size_of(elem))


def _texel_words(image: ImageRef) -> tuple[ir.Int, int]:
    """Returns the word type of a channel and the number of channels of a texel."""
    size = image.format.texel_bytes // image.format.channels
    return ir.Int(8 * size), image.format.channels
