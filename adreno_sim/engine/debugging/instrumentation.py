"""The callbacks of code under the debugger. They call `runtime/debugger.c`, which keeps the debug block (`abi.debugging`)."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ..abi import context, debugging
from ..abi.kernel_shape import ABANDONED
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from .plan import DebugPlan, key_of


class Debugging(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: DebugPlan):
        self.e, self.plan = e, plan
        self._debug = context.read(e.prologue, context.COUNTERS, "ptr")
        self._at = ""

    def on_item(self) -> None:
        t = self.e.body
        places = t.op(f"getelementptr i8, ptr %arena, i64 {self.plan.table.places_at}")
        self._at = t.op(f"getelementptr i64, ptr {places}, i64 {self.e.slot}")
        t.do(f"call void @debug_item(ptr {self._debug}, ptr %mem, ptr %arena, i64 %gl, i64 {self.e.slot})")

    def before_instr(self, instr: ir.Instr) -> None:
        number = self.plan.points.get(id(instr))
        if number is not None:
            self._come_to(number)
        if instr.op in ("ret", "unreachable"):
            self.e.body.do(f"call void @debug_finished(ptr {self._debug}, ptr {self._at})")

    def _come_to(self, number: int) -> None:
        t = self.e.body
        end, on = t.fresh("end"), t.fresh("on")
        ends = t.op(f"call i64 @debug_point(ptr {self._debug}, ptr {self._at}, i64 {number})")
        t.branch(t.op(f"icmp ne i64 {ends}, 0"), end, on, unlikely=True)
        cold = t.aside()
        cold.block(end)
        cold.do("call void @debug_end(ptr %ctx)")
        cold.do(f"ret i64 {ABANDONED}")
        t.put_aside(cold)
        t.block(on)

    # Variables

    def on_note(self, instr: ir.Instr) -> None:
        slot = self.plan.slots.get(key_of(instr))
        if slot is None or slot.flag < 0:
            return
        t, value = self.e.body, instr.operands[0] if instr.operands else None
        is_known = value is not None and not (isinstance(value, ir.Const) and value.value is ir.UNDEF)
        if value is not None and is_known and not slot.in_memory:
            self._keep(t, value, self._of_item(t, slot.offset, slot.stride))
        state = debugging.HAS_VALUE if is_known or slot.in_memory else debugging.NO_VALUE
        t.do(f"store i8 {state}, ptr {self._of_item(t, slot.flag, 1)}")

    def _keep(self, t: Text, value: ir.Value, at: str) -> None:
        type = ir.type_of(value)
        if isinstance(type, ir.Pointer):
            operand = f"i64 {t.op(f'ptrtoint ptr {self.e.address(self.e.pointer(value))} to i64')}"
        elif isinstance(type, ir.Int) and type.bits == 1:
            operand = f"i8 {t.op(f'zext {self.e.typed_operand(value)} to i8')}"
        else:
            operand = self.e.typed_operand(value)
        t.do(f"store {operand}, ptr {at}, align 1")

    def _of_item(self, t: Text, offset: int, stride: int) -> str:
        start = t.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        return t.op(f"getelementptr i8, ptr {start}, i64 {t.op(f'mul i64 {self.e.slot}, {stride}')}")

    # Stores

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        self._store(pointer, llvm_types.store_size(type))

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        if writes:
            self._store(pointer, llvm_types.store_size(type))

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        self._store(pointer, nbytes)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        self._store(target, nbytes)

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        t = self.e.body
        start = t.op(f"ptrtoint ptr {image.field('address')} to i64")
        self._note_store(t, t.op(f"add i64 {start}, {offset}"), image.format.texel_bytes)

    def _store(self, pointer: Ptr, nbytes: int | str) -> None:
        if pointer.object is None or pointer.object.kind not in ("private", "null"):
            t = self.e.body
            self._note_store(t, t.op(f"ptrtoint ptr {self.e.address(pointer)} to i64"), nbytes)

    def _note_store(self, t: Text, address: str, nbytes: int | str) -> None:
        t.do(f"call void @debug_store(ptr {self._debug}, i64 {address}, i64 {nbytes})")

    def on_report(self, t: Text, site: int) -> None:
        t.do(f"call void @debug_reported(ptr {self._debug}, i64 {site})")
