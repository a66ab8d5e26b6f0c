"""Uninitialised reads: of memory that nobody has written, and of variables to which nothing was assigned.

Each byte of memory has a mark (`shadow.init_shadow`), and each value that may be undefined a shadow of its undefined bits
(`shadow.undefined_values`, `shadow.values`). Stores, memcpy, struct assignment and asynchronous copies of whole blocks take both
along. What is undefined is reported where it decides something (`shadow.sinks`), and where a launch leaves it in memory. Vector
code: `definedness_vectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_store
from ...ir.provenance import Object, ObjectId, Ptr, is_pointer
from ...ir.queries import private_bytes
from ...records import dataclass
from ..abi.specialization import LocalArg, shadow_of
from ..analysis.lane_uses import LaneUses
from ..emit.check import Check
from ..emit.diagnostic_sites import ANY_ARGUMENT
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from ..shadow import init_shadow, texels
from ..shadow.access_info import (
    AccessInfo,
    describe_access,
    describe_texel,
    init_shadow_of_argument,
    report_access_if,
    shadow_spec,
)
from ..shadow.origins import OriginPlan
from ..shadow.undefined_values import PADDING, UndefinedValues
from ..shadow.values import ShadowValues
from . import definedness_vectors

MISSING = {
    "offset": "reads {size} bytes at offset {offset} of {view}, and nobody has written some of them",
    "coordinate": "reads {view} at {coordinate}, which nobody has written",
}


class Definedness(Check):
    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        uses = plan.unit.lane_uses(plan.unit.kernel)
        undefined = UndefinedValues(
            plan.unit.kernel,
            lambda load: uses.demand(load).any if _may_lack(plan, load) else (),
            lambda load: (load.loc, str(load.type), _read_object(plan, load)) if load.loc.line else id(load),
        )
        reason = find_memory(plan) or ("variables that may have no value" if undefined.any else "")
        return DefinednessPlan.make(plan, reason, uses, undefined) if reason else None

    def plan_vectors(self, plan: KernelPlan) -> CheckPlan | None:
        uses = plan.unit.lane_uses(plan.unit.kernel)
        definedness_vectors.check_variables(plan.unit.kernel, UndefinedValues(plan.unit.kernel))
        reason = find_memory(plan, marks_all=False)
        return definedness_vectors.VectorDefinednessPlan.make(plan, reason, uses) if reason else None


def find_memory(plan: KernelPlan, marks_all: bool = True) -> str:
    """Returns the memory that may in part be read uninitialised; "" if there is none. marks_all: an argument counts also if the
    launch writes all of it, and local memory also if it is proven to be written before it is read."""
    unit = plan.unit
    for param, arg in zip(unit.kernel.params, unit.spec.args, strict=True):
        shadow = shadow_of(arg)
        if shadow is not None and (marks_all or not shadow.written_whole):
            return f"{param.name}, which may not be initialised"
    if unit.local_bytes and (marks_all or definedness_vectors.may_read_unwritten(plan)):
        return "local memory, which may not be initialised"
    if any(instr.op == "alloca" for instr in unit.kernel.blocks[0].instrs):
        return "private variables, which may not be initialised"
    return ""


def _may_lack(plan: KernelPlan, load: ir.Instr) -> bool:
    """Returns whether a load may read what nobody has written."""
    if builtin_of(load).image:
        image = load.operands[0]
        return not isinstance(image, ir.Param) or shadow_of(plan.unit.spec.args[image.index]) is not None
    kind, which = _read_object(plan, load) or ("", 0)
    if kind == "param":
        assert isinstance(which, int)
        arg = plan.unit.spec.args[which]
        return isinstance(arg, LocalArg) or shadow_of(arg) is not None
    return kind != "global" or any(variable.name == which and variable.space == ir.LOCAL for variable in plan.globals)


def _read_object(plan: KernelPlan, load: ir.Instr) -> ObjectId | None:
    """Returns the object that a load reads; None if only the run knows."""
    image = load.operands[0]
    if builtin_of(load).image:
        return ("param", image.index) if isinstance(image, ir.Param) else None
    return plan.provenance.object_id(next(filter(is_pointer, load.operands)))


@dataclass
class DefinednessPlan(CheckPlan):
    """What the regions share: arena offsets of init shadows, `local` of all local memory, `placed` of the private variables
    that are in the arena, by id; what is remembered of reads."""

    uses: LaneUses = field(kw_only=True)
    undefined: UndefinedValues = field(kw_only=True)
    origins: OriginPlan = field(default_factory=OriginPlan)
    local: int = 0
    placed: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def make(plan: KernelPlan, reason: str, uses: LaneUses, undefined: UndefinedValues) -> DefinednessPlan:
        nbytes = plan.unit.local_bytes
        local = plan.unit.reserve_arena(nbytes)
        zeroed, origins = [(local, nbytes)] if nbytes else [], OriginPlan.make(plan, undefined)
        return DefinednessPlan(reason, [], zeroed, uses=uses, undefined=undefined, origins=origins, local=local)

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return DefinednessInstrumentation(e, self)


class DefinednessInstrumentation(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: DefinednessPlan):
        self.e, self.plan = e, plan
        self.values = ShadowValues(e, plan.undefined, plan.origins)
        self._private: dict[object, str] = {}

    # Values that may be undefined

    def on_item(self) -> None:
        self.values.origins.on_item()

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

    def on_end(self) -> None:
        self.values.end()

    def undefined_flags(self, type: ir.Type) -> str:
        return self.values.undefined_flags(type)

    def after_load(self, instr: ir.Instr | None) -> None:
        if instr is not None:
            self.values.end_load(instr)

    # Memory

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        what = describe_access(self.e, pointer, llvm_types.store_size(type))
        self._check(self._init_bytes(pointer), type, instr, what)

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        undefined = value is not None and bool(self.plan.undefined.lanes(value))
        if value is not None and undefined:
            self._report_store(pointer, value)
        init = self._init_bytes(pointer)
        if init is None:
            return
        if value is None or not undefined:
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type))
            return
        shadow, padding = self._in_memory(value, type), self._padding(value)
        self._if_present(pointer, init, lambda: init_shadow.emit_mark_bits(self.e.body, init, type, shadow, padding))

    def _report_store(self, pointer: Ptr, value: ir.Value) -> None:
        """Emits the report of an undefined value that is stored where others may see it."""
        lanes = self.plan.undefined.used_lanes(value)
        if pointer.object is None:
            self.values.report(value, lanes, "it is stored in memory", ANY_ARGUMENT)
        elif pointer.object.kind == "buffer":
            which = pointer.object.id[1]
            assert isinstance(which, int)
            self.values.report(value, lanes, f"it is stored in {pointer.object.name}", which)

    def _in_memory(self, value: ir.Value, type: ir.Type) -> str:
        """Emits the shadow of a value as memory of `type` holds it."""
        return self.values.rules.convert(value.type, type, self.values.shadow(value))

    def _padding(self, value: ir.Value) -> frozenset[int]:
        """Returns the lanes of a value that are padding, and nothing else."""
        return frozenset(lane for lane, why in self.plan.undefined.lanes(value).items() if why == {PADDING})

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        size = llvm_types.store_size(type)
        init = self._init_bytes(pointer)
        if reads:
            self._check(init, type, None, describe_access(self.e, pointer, size))
        if writes and init is not None:
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type))

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        init = self._init_bytes(pointer)
        if init is not None:
            mark = self._mark_of_result()
            self._if_present(pointer, init, lambda: init_shadow.emit_fill(self.e.body, self.e.unit, init, str(nbytes), mark))

    def _mark_of_result(self) -> str:
        """Emits the mark of what the current instruction writes from all its operands."""
        instr, rules = self.e.current, self.values.rules
        operands = instr.operands if instr is not None and not is_plain_store(instr) else []
        undefined = [rules.flag(v) for v in operands if not is_pointer(v) and self.plan.undefined.used_lanes(v)]
        return init_shadow.emit_one_mark(self.e.body, init_shadow.emit_or(self.e.body, undefined))

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        """The init shadow is copied with the bytes: a copy is not a use."""
        t, unit = self.e.body, self.e.unit
        init, origin = self._init_bytes(target), self._init_bytes(source)
        if init is not None and origin is not None and not self._is_known(source):
            self._if_present(target, init, lambda: self._copy_from_optional(init, origin, nbytes))
        elif init is not None and origin is not None:
            self._if_present(target, init, lambda: init_shadow.emit_copy(t, unit, init, origin, nbytes))
        elif init is not None:
            mark = self._mark_of_result() if source is None else "1"
            self._if_present(target, init, lambda: init_shadow.emit_fill(t, unit, init, nbytes, mark))

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
        self._check_texel(init, image, instr or self.e.current, describe_texel(image, where))

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        if shadow_spec(self.e, image.param.index) is None:
            return
        t, instr = self.e.body, self.e.current
        init = t.op(f"getelementptr i8, ptr {init_shadow_of_argument(self.e, image.param.index)}, i64 {offset}")
        colour = instr.operands[-1] if instr is not None else None
        lanes = texels.stored_lanes(image.format)
        used = [lane for lane in self.plan.undefined.used_lanes(colour) if lane in lanes] if colour is not None else []
        if colour is None or not used:
            init_shadow.emit_mark(t, init, type)
            return
        why = f"it is written to {image.param.name}"
        self.values.report(colour, used, why, image.param.index)
        init_shadow.emit_mark_bits(t, init, type, texels.emit_stored_shadow(self.values.rules, image.format, colour, type), _NONE)

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
        if init is None or (instr is not None and not self.plan.uses.demand(instr).any):
            return
        init = init_shadow.emit_or_all_init(self.e, init, what.view != "")
        bad = init_shadow.emit_any_uninit(self.e.body, init, type)
        if instr is None or not self.plan.undefined.is_deferred(instr):
            report_access_if(self.e, bad, what, Kind.UNINITIALIZED_READ, MISSING[what.shape])
            return

        def note(t: Text) -> None:
            found = init_shadow.emit_undefined_bits(t, init, type)
            self.values.note_unwritten(instr, self.values.rules.convert(type, instr.type, found, t), t, what, MISSING[what.shape])

        self._aside_if(bad, note)

    def _check_texel(self, init: str, image: ImageRef, instr: ir.Instr | None, what: AccessInfo) -> None:
        if instr is None or not self.plan.undefined.is_deferred(instr):
            return
        stored = texels.stored_type(image.format)
        bad = init_shadow.emit_any_uninit(self.e.body, init, stored)

        def note(t: Text) -> None:
            found = init_shadow.emit_undefined_bits(t, init, stored)
            shadow = texels.emit_fetched_shadow(image.format, found, instr.type, t)
            self.values.note_unwritten(instr, shadow, t, what, MISSING[what.shape])

        self._aside_if(bad, note)

    def _aside_if(self, bad: str, emit: Callable[[Text], None]) -> None:
        """Emits cold code that runs if the i1 `bad` is set."""
        t = self.e.body
        failed, on = t.fresh("unwritten"), t.fresh("on")
        t.branch(bad, failed, on, unlikely=True)
        cold = t.aside()
        cold.block(failed)
        emit(cold)
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)


_NONE: frozenset[int] = frozenset()
