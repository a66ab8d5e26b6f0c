"""Uninitialised reads: of memory that nobody has written, and of variables to which nothing was assigned.

Each byte of memory has a byte of init shadow (`shadow.init_shadow`), and each value that may be undefined a mask of its
undefined lanes (`shadow.undefined_values`, `shadow.values`). A copy of uninitialised bytes by a load and a store is reported
at the load; memcpy, struct assignment and asynchronous copies copy the shadow too, and the report comes where the copy is read.
Vector code: `definedness_vectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Object, Ptr
from ...ir.queries import private_bytes
from ..abi.specialization import shadow_of
from ..analysis.lane_uses import Demand, LaneUses, demand_all
from ..emit.check import Check
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import RegionEmitter
from ..shadow import init_shadow
from ..shadow.access_info import (
    AccessInfo,
    describe_access,
    describe_texel,
    init_shadow_of_argument,
    report_access_if,
    shadow_spec,
)
from ..shadow.undefined_values import UndefinedValues
from ..shadow.values import UndefMasks
from . import definedness_vectors

MISSING = {
    "offset": "reads {size} bytes at offset {offset} of {view}, some of which nobody has written",
    "coordinate": "reads {view} at {coordinate}, which nobody has written",
}


class Definedness(Check):
    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        uses = plan.unit.lane_uses(plan.unit.kernel)
        undefined = UndefinedValues(plan.unit.kernel, uses)
        reason = find_memory(plan) or ("variables that may have no value" if undefined.any else "")
        return DefinednessPlan.make(plan, reason, uses, undefined) if reason else None

    def plan_vectors(self, plan: KernelPlan) -> CheckPlan | None:
        uses = plan.unit.lane_uses(plan.unit.kernel)
        definedness_vectors.check_variables(plan.unit.kernel, UndefinedValues(plan.unit.kernel, uses))
        reason = find_memory(plan, marks_all=False)
        return definedness_vectors.VectorDefinednessPlan.make(plan, reason, uses) if reason else None


def find_memory(plan: KernelPlan, marks_all: bool = True) -> str:
    """Returns the memory of which some may be read uninitialised; "" if there is none. marks_all: an argument counts also if the
    launch writes all of it."""
    unit = plan.unit
    for param, arg in zip(unit.kernel.params, unit.spec.args, strict=True):
        shadow = shadow_of(arg)
        if shadow is not None and (marks_all or not shadow.written_whole):
            return f"{param.name}, which may not be initialised"
    if unit.local_bytes:
        return "local memory, which may not be initialised"
    if any(instr.op == "alloca" for instr in unit.kernel.blocks[0].instrs):
        return "private variables, which may not be initialised"
    return ""


@dataclass
class DefinednessPlan(CheckPlan):
    """What the regions share: arena offsets of init shadows, `local` of all local memory, `placed` of the private variables
    that lie in the arena, by id."""

    uses: LaneUses = None  # type: ignore[assignment]
    undefined: UndefinedValues = None  # type: ignore[assignment]
    local: int = 0
    placed: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def make(plan: KernelPlan, reason: str, uses: LaneUses, undefined: UndefinedValues) -> DefinednessPlan:
        nbytes = plan.unit.local_bytes
        local = plan.unit.reserve_arena(nbytes)
        return DefinednessPlan(reason, [], [(local, nbytes)] if nbytes else [], uses=uses, undefined=undefined, local=local)

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return DefinednessInstrumentation(e, self)


class DefinednessInstrumentation(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: DefinednessPlan):
        self.e, self.plan = e, plan
        self.values = UndefMasks(e, plan.undefined)
        self._private: dict[object, str] = {}

    # Values that may be undefined

    def before_instr(self, instr: ir.Instr) -> None:
        self.values.before_instr(instr)

    def mask_types(self, value: ir.Value) -> list[str]:
        return self.values.types(value)

    def masks(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        return self.values.parts(value, like)

    def bind(self, instr: ir.Instr, masks: Sequence[str]) -> None:
        self.values.bind(instr, masks)

    def forget(self, instr: ir.Instr) -> None:
        self.values.forget(instr)

    def after_load(self, instr: ir.Instr | None) -> None:
        if instr is not None:
            self.values.load_read_masks(instr)

    # Memory

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        what = describe_access(self.e, pointer, llvm_types.store_size(type))
        self._check(self._init_bytes(pointer), type, instr, what)

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        init = self._init_bytes(pointer)
        if init is not None:
            masks = self.values.parts(value) if value is not None else []
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type, masks))

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        size = llvm_types.store_size(type)
        init = self._init_bytes(pointer)
        if reads:
            self._check(init, type, None, describe_access(self.e, pointer, size))
        if writes and init is not None:
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type, []))

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        init = self._init_bytes(pointer)
        if init is not None:
            self._if_present(pointer, init, lambda: init_shadow.emit_fill(self.e.body, self.e.unit, init, str(nbytes)))

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        """The init shadow is copied with the bytes: a copy is not a use."""
        t, unit = self.e.body, self.e.unit
        init, origin = self._init_bytes(target), self._init_bytes(source)
        if init is not None and origin is not None and not self._is_known(source):
            self._if_present(target, init, lambda: self._copy_from_optional(init, origin, nbytes))
        elif init is not None:
            self._if_present(target, init, lambda: init_shadow.emit_copy(t, unit, init, origin, nbytes))

    def _copy_from_optional(self, init: str, origin: str, nbytes: str) -> None:
        """Copies the init shadow from `origin`, which is null if all bytes are initialised."""
        t = self.e.body
        some, none, on = t.fresh("some"), t.fresh("none"), t.fresh("on")
        t.branch(t.op(f"icmp ne ptr {origin}, null"), some, none)
        t.block(some)
        init_shadow.emit_copy(t, self.e.unit, init, origin, nbytes)
        t.jump(on)
        t.block(none)
        init_shadow.emit_fill(t, self.e.unit, init, nbytes)
        t.jump(on)
        t.block(on)

    # Images

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        if shadow_spec(self.e, image.param.index) is None:
            return
        init = self.e.body.op(f"getelementptr i8, ptr {init_shadow_of_argument(self.e, image.param.index)}, i64 {offset}")
        self._check_texel(init, image, instr, describe_texel(image, where))

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        if shadow_spec(self.e, image.param.index) is not None:
            t = self.e.body
            init = t.op(f"getelementptr i8, ptr {init_shadow_of_argument(self.e, image.param.index)}, i64 {offset}")
            init_shadow.emit_mark(t, init, type, [])

    def on_alloca(self, variable: ir.Instr) -> None:
        fill = self.e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        base = self._private_base(self.e.object(("alloca", id(variable))))
        self.e.opening.do(f"call {fill}(ptr {base}, i8 0, i64 {private_bytes(variable)}, i1 false)")

    def on_undefine(self, variable: ir.Instr) -> None:
        base = self._private_base(self.e.object(("alloca", id(variable))))
        init_shadow.emit_clear(self.e.body, self.e.unit, base, private_bytes(variable))

    # Where shadows lie

    def _base(self, target: Object) -> str | None:
        """Returns the init shadow of an object; None if all of it always counts as initialised."""
        which = target.id[1]
        if target.kind == "buffer":
            assert isinstance(which, int)
            return init_shadow_of_argument(self.e, which) if shadow_spec(self.e, which) is not None else None
        if target.kind == "local":
            offset = self.plan.local + self.e.unit.local_offsets[which]
            return self.e.prologue.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        return self._private_base(target) if target.kind == "private" else None

    def _private_base(self, target: Object) -> str:
        which = target.id[1]
        if which not in self._private:
            assert isinstance(which, int)
            self._private[which] = self._new_private(which, int(target.length))
        return self._private[which]

    def _new_private(self, which: int, size: int) -> str:
        e = self.e
        if which not in e.plan.private:
            return e.prologue.op(f"alloca [{size} x i8], align 16")
        _, stride = e.plan.private[which]
        if which not in self.plan.placed:
            items = 1 if e.plan.is_single_region else e.unit.spec.items
            self.plan.placed[which] = e.unit.reserve_arena((stride or size) * items)
        start = e.prologue.op(f"getelementptr i8, ptr %arena, i64 {self.plan.placed[which]}")
        if not stride:
            return start
        slot = e.opening.op(f"mul i64 {e.slot}, {stride}")
        return e.opening.op(f"getelementptr i8, ptr {start}, i64 {slot}")

    def _is_known(self, pointer: Ptr | None) -> bool:
        """Returns whether the object, and with it the existence of its init shadow, is known at compile time."""
        return pointer is not None and pointer.object is not None

    def _init_bytes(self, pointer: Ptr | None) -> str | None:
        """Returns the init shadow at a pointer; None if nothing is recorded. It may be null unless `_is_known`."""
        if pointer is None:
            return None
        t = self.e.body
        if pointer.object is not None:
            base = self._base(pointer.object)
            return base if base is None or pointer.offset == 0 else t.op(f"getelementptr i8, ptr {base}, i64 {pointer.offset}")
        base = "null"
        for target in map(self.e.object, self.e.candidates()):
            shadow = self._base(target)
            if shadow is not None:
                hit = t.op(f"icmp eq ptr {pointer.base}, {target.base}")
                moved = t.op(f"getelementptr i8, ptr {shadow}, i64 {pointer.offset}")
                base = t.op(f"select i1 {hit}, ptr {moved}, ptr {base}")
        return base

    def _if_present(self, pointer: Ptr, init: str, write: Callable[[], None]) -> None:
        """Emits code that needs `init`, behind a null test if it may be null."""
        if self._is_known(pointer):
            write()
            return
        t = self.e.body
        some, on = t.fresh("shadow"), t.fresh("on")
        t.branch(t.op(f"icmp ne ptr {init}, null"), some, on)
        t.block(some)
        write()
        t.jump(on)
        t.block(on)

    # Findings

    def _check(self, init: str | None, type: ir.Type, instr: ir.Instr | None, what: AccessInfo) -> None:
        if init is None:
            return
        demand = self._demand(instr, type)
        if not demand.any:
            return
        sure = what.view != ""
        init = init_shadow.emit_or_all_init(self.e, init, sure)
        lanes = llvm_types.lanes_of(type)
        if len(demand.hard) == lanes:
            bad = init_shadow.emit_any_uninit(self.e.body, init, type)
        else:
            flags = init_shadow.emit_uninit_lanes(self.e.body, init, type)
            bad = init_shadow.emit_or(self.e.body, [flags[lane] for lane in sorted(demand.hard)])
            self.values.store_read_masks(instr, {lane: flags[lane] for lane in demand.soft})
        report_access_if(self.e, bad, what, Kind.UNINITIALIZED_READ, MISSING[what.shape])

    def _check_texel(self, init: str, image: ImageRef, instr: ir.Instr | None, what: AccessInfo) -> None:
        """Emits the check of a texel, which counts as uninitialised if any of its bytes is."""
        demand = self._demand(instr, None)
        if not demand.any:
            return
        bad = init_shadow.emit_any_uninit(self.e.body, init, ir.Vector(ir.Int(8), image.format.texel_bytes))
        if instr is not None and demand.soft:
            self.values.store_read_masks(instr, dict.fromkeys(demand.soft, bad))
        if demand.hard or instr is None:
            report_access_if(self.e, bad, what, Kind.UNINITIALIZED_READ, MISSING[what.shape])

    def _demand(self, instr: ir.Instr | None, type: ir.Type | None) -> Demand:
        if instr is not None:
            return self.plan.uses.demand(instr)
        return demand_all(ir.Const(type, None)) if type is not None else Demand(frozenset({0}))
