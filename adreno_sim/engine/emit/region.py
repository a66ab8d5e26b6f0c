"""Emits the function of one parallel region: its memory objects, its loops over work-items, and the exits of work-items."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.memory_ops import touches_memory
from ...ir.provenance import Object, ObjectId
from ...ir.queries import object_align, private_bytes
from ..abi import context
from ..abi.kernel_shape import ABANDONED
from ..abi.specialization import NOTHING, LocalArg
from ..analysis.intervals import Grid, Intervals, find_intervals
from ..analysis.parallel_regions import ParallelRegion
from ..analysis.segments import Segment
from ..llvm.text import Text, check_order
from .argument_slots import ArgumentSlots
from .diagnostic_sites import DiagnosticSite
from .emitter import Emitter
from .instrumentation import InstrumentationList
from .items.exits import Exits
from .items.loops import emit_item_loops
from .kernel_plan import CollectiveSlots, KernelPlan
from .segment_flow import SegmentFlow
from .work_items import WorkItem

PARAMETERS = (
    "ptr %ctx, ptr noalias %args, ptr noalias %mem, ptr noalias %arena, i64 %gx, i64 %gy, i64 %gz, i64 %gl, i64 %first, i64 %last"
)
ARGUMENTS = "ptr %ctx, ptr %args, ptr %mem, ptr %arena, i64 %gx, i64 %gy, i64 %gz, i64 %gl, i64 %first, i64 %last"
STACK_LIMIT = 8192
"""Bytes of private arrays that one work-item may keep on the worker's stack."""


class RegionEmitter(Emitter):
    """Emits the function of one region, `i64 @region.N(...)`. It returns the number of the synchronisation point that every
    work-item reached, or 0 at the kernel's end."""

    def __init__(self, plan: KernelPlan, region: ParallelRegion):
        super().__init__(plan.unit, plan.unit.kernel, plan.provenance)
        self.plan = plan
        self.region = region
        self.item_ids = WorkItem(self)
        self.exits = Exits()
        self.argument_slots = ArgumentSlots(self.prologue, plan.args)
        self.hooks = InstrumentationList([check.instrument(self) for check in plan.checks])

    # Memory objects

    def object_of(self, object_id: ObjectId) -> Object:
        kind, which = object_id
        if kind == "param":
            return self._argument(next(p for p in self.function.params if p.index == which))
        if kind == "alloca":
            return self.private_object(object_id)
        variable = next(g for g in self.plan.globals if g.name == which)
        size = llvm_types.size_of(variable.type)
        if variable.space == ir.LOCAL:
            return Object(object_id, variable.name, "local", self._in_memory(self.unit.reserve_local(variable.name, size)), size)
        return Object(object_id, variable.name, "constant", self.unit.constant_data(variable), size)

    def _in_memory(self, offset: int) -> str:
        return self.prologue.op(f"getelementptr i8, ptr %mem, i64 {offset}")

    def _argument(self, param: ir.Param) -> Object:
        arg = self.unit.spec.args[param.index]
        if isinstance(arg, LocalArg):
            base = self._in_memory(self.unit.reserve_local(param.index, arg.nbytes))
            return Object(("param", param.index), param.name, "local", base, arg.nbytes)
        base = self.argument_slots.field(param.index, 0, "ptr")
        return Object(("param", param.index), param.name, "buffer", base, self.argument_slots.field(param.index, 8))

    def parameter(self, param: ir.Param) -> str:
        if isinstance(param.type, ir.Int) and param.type.bits == 1:
            return self.prologue.op(f"trunc i8 {self.argument_slots.field(param.index, 0, 'i8')} to i1")
        return self.argument_slots.field(param.index, 0, llvm_types.spell(param.type))

    def argument_address(self, param: ir.Param) -> str:
        """Returns the address of an argument passed by value, from which the bytes of a struct are copied."""
        return self.argument_slots.address(param.index)

    def private_object(self, object_id: ObjectId) -> Object:
        """Returns the memory object of a private variable."""
        instr = self.plan.variables[object_id[1]]  # type: ignore[index]
        size = private_bytes(instr)
        name = instr.name or "private variable"
        if id(instr) not in self.plan.private:
            base = self.prologue.op(f"alloca [{size} x i8], align {object_align(size)}")
            return Object(object_id, name, "private", base, size)
        offset, stride = self.plan.private[id(instr)]
        start = self.prologue.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        if stride:
            slot = self.opening.op(f"mul i64 {self.slot}, {stride}")
            start = self.opening.op(f"getelementptr i8, ptr {start}, i64 {slot}")
        return Object(object_id, name, "private", start, size)

    def candidates(self) -> Iterable[ObjectId]:
        for param in self.function.params:
            if isinstance(param.type, ir.Pointer):
                yield ("param", param.index)
        yield from (("global", g.name) for g in self.plan.globals)
        yield from (("alloca", number) for number in self.plan.variables)

    # Work-items

    def is_nsw(self, instr: ir.Instr) -> bool:
        proven = self.unit.spec.proofs != NOTHING
        return self.unit.is_nsw(instr) if proven else self._intervals.is_nsw(instr)

    @cached_property
    def _intervals(self) -> Intervals:
        return find_intervals(self.region.order, Grid.of(self.unit.spec))

    def report_ids(self, t: Text) -> tuple[str, str]:
        return "%gl", self.item_ids.slot(t)

    def emit(self) -> str:
        """Returns the text of the whole function."""
        self.opening = Text(self.prologue.names, label="item")
        for name in self._counters:
            self.prologue.do(f"%{name} = alloca i64")
            self.prologue.do(f"store i64 0, ptr %{name}")
        if self.unit.deferred_checks:  # one flag per run of the region: a register, which LLVM can keep through vectorised loops
            self.prologue.do("%sticky = alloca i8")
            self.prologue.do("store i8 0, ptr %sticky")
        name = f"region.{self.region.number}"
        head, tail = emit_item_loops(self)
        self.slot = self.item_ids.local_linear(self.opening)
        self.open_item()
        self.emit_code()
        self.exits.emit_common(self.prologue, self.body, self.item_ids.slot)
        tail += self._raised() + self.exits.result()
        check_order(self.prologue, self.opening)
        lines = [f"define internal i64 @{name}({PARAMETERS}) #0 {{", "entry:", *self.prologue.lines, "  br label %begin"]
        lines += [*head, "item:", *self.opening.lines, f"  br label %{self.region.order[0].label}"]
        lines += [*self.body.lines, *tail, *self.body.cold, "}"]
        return "\n".join(lines)

    def emit_code(self) -> None:
        """Emits the segments of the region. Each exit ends in a jump to `left`."""
        SegmentFlow(self).emit(self.region.order, self.region.polled)

    def loop_steps(self) -> dict[int, int]:
        """Returns the axes along which there is a loop over work-items, with how many of them an iteration handles. A single
        work-item needs no loop."""
        spec = self.unit.spec
        return {axis: 1 for axis in range(3) if not (spec.uniform and spec.local_size[axis] == 1)}

    @property
    def _counters(self) -> dict[str, int]:
        """Access counters by name, and the context words that hold their sums."""
        return {"executed": context.EXECUTED, "executed.proven": context.EXECUTED_PROVEN} if self.unit.spec.count else {}

    def count_access(self, instr: ir.Instr) -> None:
        if self.unit.spec.count and touches_memory(instr):
            for name in ("executed", "executed.proven") if self.unit.proves_in_range(instr) else ("executed",):
                before = self.body.op(f"load i64, ptr %{name}")
                self.body.do(f"store i64 {self.body.op(f'add i64 {before}, 1')}, ptr %{name}")

    def _flush(self, t: Text) -> None:
        """Emits the transfer of the region's fault flag and counters to the launch, on the way out."""
        for name, word in self._counters.items():
            total = t.op(f"load i64, ptr %{name}")
            t.op(f"atomicrmw add ptr {context.field(t, word)}, i64 {total} monotonic")
        if self.unit.deferred_checks:
            t.do(f"call void @raise_fault(ptr %ctx, i8 {t.op('load i8, ptr %sticky')})")

    def _raised(self) -> list[str]:
        t = Text(self.prologue.names)
        self._flush(t)
        return t.lines

    def open_item(self) -> None:
        """Reloads the values live across synchronisation points. In the first region it also zeroes private variables."""
        for value in self.region.redefined:
            self.slots[id(value)] = self.make_slots(value, 16)
        with self.writing_to(self.opening):
            self.hooks.on_item()
            for value in self.region.live_in:
                self.define_parts(value, self.load_spilled(value))
            for number, variable in self.plan.variables.items():
                if self.region.number == 0 or number not in self.plan.private:
                    self.zero_variable(variable)

    def make_slots(self, value: ir.Instr, align: int) -> list[str]:
        """Returns stack slots for the parts of a value. They begin as zeros: where no lane is at work, code may load before any
        store."""
        slots = [(type, self.prologue.op(f"alloca {type}, align {align}")) for type in self.part_types(value)]
        for type, slot in slots:
            self.prologue.do(f"store {type} zeroinitializer, ptr {slot}, align {align}")
        return [slot for _, slot in slots]

    def zero_variable(self, instr: ir.Instr) -> None:
        """Emits code that zeroes a private variable where a work-item begins."""
        target = self.object(("alloca", id(instr)))
        fill = self.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        align = object_align(int(target.length))
        self.opening.do(f"call {fill}(ptr align {align} {target.base}, i8 0, i64 {target.length}, i1 false)")
        self.hooks.on_alloca(instr)

    def arena_slot(self, t: Text, offset: int, type: str) -> str:
        """Emits the address of this work-item's entry in the arena array of `type` at `offset`."""
        base = t.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        return t.op(f"getelementptr [{value_bytes(type)} x i8], ptr {base}, i64 {self.slot}")

    def spill_types(self, value: ir.Instr) -> list[str]:
        """Returns the LLVM types of the parts in which a value lives across synchronisation points."""
        return self.part_types(value)

    def spill_parts(self, value: ir.Instr) -> list[str]:
        """Returns the operands of these parts."""
        return self.parts(value)

    def load_spilled(self, value: ir.Instr) -> list[str]:
        """Emits loads of these parts where a work-item enters the region."""
        t, offsets, types = self.opening, self.plan.spilled[id(value)], self.spill_types(value)
        return [
            t.op(f"load {type}, ptr {self.arena_slot(t, offset, type)}, align 1")
            for offset, type in zip(offsets, types, strict=True)
        ]

    def leave_at_sync(self, segment: Segment) -> None:
        sync = segment.sync
        assert sync is not None
        t = self.body
        for value in self.plan.regions.live_across(sync):
            if id(value) in self.region.defined:
                offsets, types = self.plan.spilled[id(value)], self.spill_types(value)
                for offset, type, part in zip(offsets, types, self.spill_parts(value), strict=True):
                    t.do(f"store {type} {part}, ptr {self.arena_slot(t, offset, type)}, align 1")
        if sync.number in self.plan.collective:
            self._store_collective_operands(sync.instr, self.plan.collective[sync.number])
        self.exits.leave(t, sync.number)

    def _store_collective_operands(self, instr: ir.Instr, slots: CollectiveSlots) -> None:
        t = self.body
        for position, (operand, offsets) in enumerate(zip(instr.operands, slots.operands, strict=True)):
            types = [llvm_types.spell(operand.type), *slots.types[1 : len(offsets)]]
            value = self._named_item(instr) if position == 1 and names_local_id(instr) else self.value(operand)
            parts = [value, *(self.hooks.masks(operand, instr) if len(offsets) > 1 else [])]
            for offset, type, part in zip(offsets, types, parts, strict=True):
                t.do(f"store {type} {part}, ptr {self.arena_slot(t, offset, type)}, align 1")

    def _named_item(self, instr: ir.Instr) -> str:
        """Returns the linear local id, over the group's own extents, of the local id that a broadcast names."""
        t, wide, first = self.body, ir.Int(64), instr.operands[1].type
        named = instr.operands[1:]
        ids = [self.value(v) if v.type == wide else t.op(f"zext {self.typed_operand(v)} to i64") for v in named]
        linear = self.item_ids.linear(t, [*ids, "0", "0"][:3])
        return linear if first == wide else t.op(f"trunc i64 {linear} to {first}")

    def leave(self, value: str | None) -> None:
        self.exits.leave(self.body)

    def poll(self, loc: ir.SourceLoc) -> None:
        t = self.body
        flag = t.op(f"load atomic i64, ptr {context.field(self.prologue, context.STOP)} monotonic, align 8")
        stop, on = t.fresh("stop"), t.fresh("on")
        t.branch(t.op(f"icmp ne i64 {flag}, 0"), stop, on, unlikely=True)
        cold = t.aside()
        cold.block(stop)
        self._flush(cold)
        self.report(cold, DiagnosticSite(Kind.WATCHDOG, loc))
        cold.do(f"ret i64 {ABANDONED}")
        t.put_aside(cold)
        t.block(on)


def names_local_id(instr: ir.Instr) -> bool:
    """Returns whether a collective function names a work-item by its local id."""
    return instr.callee is not None and instr.callee.name == "work_group_broadcast"


def value_bytes(type: str) -> int:
    """Returns the bytes of a spilled part of LLVM type `type`. Vectors of 3 are packed; an i1 takes one byte."""
    if type == "ptr":
        return 8
    if type.startswith("<"):
        count, elem = type[1:-1].split(" x ")
        return max(1, int(count) * {"i1": 1}.get(elem, value_bytes(elem)))
    return {"i1": 1, "half": 2, "float": 4, "double": 8}.get(type) or max(1, int(type[1:]) // 8)
