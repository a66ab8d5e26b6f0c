"""Emits one LLVM function from segments of kernel IR: values, phis, memory objects, and the dispatch over instructions.

The emitters of single instructions are registered in `INSTRUCTIONS` by their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from ...ir import ir, llvm_types
from ...ir.provenance import NULL, Object, ObjectId, Provenance, Ptr, is_pointer
from ...records import dataclass
from ..analysis.segments import Segment
from ..llvm import constants
from ..llvm.text import Text
from .diagnostic_sites import BENIGN_KINDS, IMMEDIATE_KINDS, DiagnosticSite
from .event_counters import count_event
from .instrumentation import Instrumentation
from .unit import Unit

Instruction = Callable[["Emitter", ir.Instr], None]
INSTRUCTIONS: dict[str, Instruction] = {}


def instruction(*ops: str) -> Callable[[Instruction], Instruction]:
    """Registers the decorated function as the emitter of the kernel IR operations `ops`."""

    def register(function: Instruction) -> Instruction:
        for op in ops:
            INSTRUCTIONS[op] = function
        return function

    return register


@dataclass
class KnownHalves:
    """Facts about operands that are halves. flushed: results of arithmetic, in which no denormal is left. spread: the element in
    every lane, and the value that it belongs to. whole: whole numbers: the same as float, and the largest magnitude."""

    flushed: set[str] = field(default_factory=set)
    spread: dict[str, tuple[str, ir.Type, int]] = field(default_factory=dict)
    whole: dict[str, tuple[str, int]] = field(default_factory=dict)


class Emitter:
    """The state of one function that is being written.

    `body` holds the code of the work-item (or library call), `prologue` the code before its loop. Both share one supply of
    names. A value is one operand. A pointer consists of the parts that are not known statically: its offset, or base, length
    and offset.
    """

    def __init__(self, unit: Unit, function: ir.Function, provenance: Provenance):
        self.unit = unit
        self.function = function
        self.provenance = provenance
        self.prologue = Text()
        self.body = Text(self.prologue.names)
        self.values: dict[int, str] = {}
        self.pointers: dict[int, Ptr] = {}
        self.slots: dict[int, list[str]] = {}  # values redefined on some paths: one stack slot per part
        self.halves = KnownHalves()
        self.objects: dict[ObjectId, Object] = {}
        self.limits: dict[tuple[str, int], str] = {}
        self.loc = ir.UNKNOWN_LOC
        self.hooks = Instrumentation()
        self.current: ir.Instr | None = None
        self.contracts = unit.spec.contract == "on"

    @property
    def users(self) -> dict[int, list[ir.Instr]]:
        """Maps the `id` of a value to the instructions that have it as an operand."""
        return self.unit.users(self.function)

    # Hooks that kernels and library functions define differently.

    def object_of(self, object_id: ObjectId) -> Object:
        """Returns the memory object of a static pointer. Its operands are available in this function."""
        raise NotImplementedError

    def parameter(self, param: ir.Param) -> str:
        """Returns the operand of an argument passed by value."""
        raise NotImplementedError

    def argument_address(self, param: ir.Param) -> str:
        """Returns the address of a struct argument's bytes."""
        raise NotImplementedError

    def is_nsw(self, instr: ir.Instr) -> bool:
        """Returns whether the result of an integer operation never wraps as signed."""
        return False

    def interval_of(self, value: ir.Value) -> tuple[int, int] | None:
        """Returns the least and the greatest number that an integer may be; None if nothing is known."""
        return None

    def candidates(self) -> Iterable[ObjectId]:
        """Returns the objects that a pointer of unknown origin may point into."""
        return ()

    def report_ids(self, t: Text) -> tuple[str, str]:
        """Returns i64 operands of the linear group number and the local id, for reports emitted into `t`."""
        return "0", "0"

    def count_access(self, instr: ir.Instr) -> None:
        """Is called before each instruction. Subclasses count executed accesses."""

    def leave(self, value: str | None) -> None:
        """Ends this work-item, or returns `value` from a library function."""
        raise NotImplementedError

    @contextmanager
    def writing_to(self, t: Text) -> Iterator[None]:
        """What is emitted meanwhile goes to `t` instead of the body."""
        body, self.body = self.body, t
        try:
            yield
        finally:
            self.body = body

    # Values

    def value(self, value: ir.Value) -> str:
        """Returns the operand of a value that is not a pointer."""
        if isinstance(value, ir.Const):
            return constants.text(value)
        known = self.values.get(id(value))
        if known is not None:
            return known
        if isinstance(value, ir.Param):
            self.values[id(value)] = self.parameter(value)
            return self.values[id(value)]
        return self.load_slots(value)[0]

    def typed_operand(self, value: ir.Value) -> str:
        """Returns the operand of a value, preceded by its LLVM type."""
        return f"{llvm_types.spell(value.type)} {self.value(value)}"

    def pointer(self, value: ir.Value) -> Ptr:
        """Returns the emitted form of a pointer value."""
        known = self.pointers.get(id(value))
        if known is not None:
            return known
        if isinstance(value, ir.Instr) and value.op != "alloca":
            return self.rebuild_pointer(value, self.load_slots(value))
        offset = value.value.offset if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset) else 0
        object_id = self.provenance.object_id(value)
        assert object_id is not None, f"{value} has no known object"
        target = self.object(object_id)
        return Ptr(target.base, target.length, offset, self.provenance.align(value), target)

    def object(self, object_id: ObjectId) -> Object:
        """Returns the memory object of an id, emitting its operands on first use."""
        if object_id not in self.objects:
            self.objects[object_id] = Object(NULL, "null", "null", "null", 0) if object_id == NULL else self.object_of(object_id)
        return self.objects[object_id]

    def address(self, pointer: Ptr) -> str:
        """Returns the machine address as a `ptr` operand."""
        if pointer.address is not None:
            return pointer.address
        if pointer.offset == 0:
            return pointer.base
        return self.body.op(f"getelementptr i8, ptr {pointer.base}, i64 {pointer.offset}")

    def part_types(self, value: ir.Value) -> list[str]:
        """Returns the LLVM types of the parts of a value, in the form in which this emitter holds it."""
        return self.scalar_types(value)

    def scalar_types(self, value: ir.Value) -> list[str]:
        """Returns the LLVM types of the parts of one work-item's value."""
        if is_pointer(value):
            known = self.provenance.object_id(value) is not None
            return [*(["i64"] if known else ["ptr", "i64", "i64"]), *self.hooks.mask_types(value)]
        return [llvm_types.spell(value.type), *self.hooks.mask_types(value)]

    def parts(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        """Returns the operands of the parts of a value, in the form that `like` (default: the value) has."""
        if not is_pointer(value):
            return [self.value(value), *self.hooks.masks(value, like)]
        pointer, masks = self.pointer(value), self.hooks.masks(value, like)
        if self.provenance.object_id(like if like is not None else value) is None:
            return [pointer.base, str(pointer.length), str(pointer.offset), *masks]
        return [str(pointer.offset), *masks]

    def rebuild_pointer(self, value: ir.Value, parts: list[str]) -> Ptr:
        """Returns the pointer that consists of `parts`."""
        align = self.provenance.align(value)
        object_id = self.provenance.object_id(value)
        if object_id is None:
            return Ptr(parts[0], parts[1], parts[2], align)
        target = self.object(object_id)
        return Ptr(target.base, target.length, parts[0], align, target)

    def define(self, instr: ir.Instr, operand: str) -> None:
        """Binds the result of an instruction that is not a pointer."""
        self.values[id(instr)] = operand
        self._store_slots(instr, [operand, *self.hooks.masks(instr)])

    def define_pointer(self, instr: ir.Instr, pointer: Ptr) -> None:
        """Binds the result of an instruction that is a pointer."""
        self.pointers[id(instr)] = pointer
        if id(instr) in self.slots:
            self._store_slots(instr, self.parts(instr))

    def define_parts(self, instr: ir.Instr, parts: list[str]) -> None:
        """Binds a value to its parts, as a phi or a reload yields them."""
        if isinstance(instr.type, ir.Pointer):
            self.pointers[id(instr)] = self.rebuild_pointer(instr, parts)
            self.hooks.bind(instr, parts[-1:] if self.hooks.mask_types(instr) else [])
        else:
            self.values[id(instr)] = parts[0]
            self.hooks.bind(instr, parts[1:])
        self._store_slots(instr, parts)

    def _store_slots(self, instr: ir.Instr, parts: list[str]) -> None:
        slots = self.slots.get(id(instr))
        if slots is None:
            return
        for slot, type, part in zip(slots, self.part_types(instr), parts, strict=True):
            self.body.do(f"store {type} {part}, ptr {slot}")
        self.values.pop(id(instr), None)
        self.pointers.pop(id(instr), None)
        self.hooks.forget(instr)

    def load_slots(self, value: ir.Value) -> list[str]:
        """Emits loads of the stack slots of a value. Returns its parts."""
        slots = self.slots[id(value)]
        return [self.body.op(f"load {type}, ptr {slot}") for slot, type in zip(slots, self.part_types(value), strict=True)]

    # Reports

    def report(self, t: Text, site: DiagnosticSite, *values: str | int) -> None:
        """Emits into the cold code `t` the report of `site` with up to six values. With deferred checks, it only sets the
        fault flag, or counts the event if the kind is benign."""
        if self.unit.deferred_checks and site.kind not in (*IMMEDIATE_KINDS, *BENIGN_KINDS):
            self.unit.may_fail = True
            t.do("store i8 1, ptr %sticky")
            return
        if self.unit.deferred_checks and site.kind in BENIGN_KINDS:
            count_event(self, t, site, 1, lambda: (*self.report_ids(t), values))
            return
        group, local = self.report_ids(t)
        number = self.unit.table.add(site)
        rest = ", ".join(f"i64 {v}" for v in [*values, *[0] * (6 - len(values))])
        t.do(f"call void @report(ptr %ctx, i64 {number}, i64 {group}, i64 {local}, {rest})")
        self.hooks.on_report(t, number)

    def report_if(self, condition: str, site: DiagnosticSite, *values: str | int) -> None:
        """Emits a report of `site` if the i1 `condition` holds. Execution continues."""
        if not self.unit.checked:
            return
        bad, on = self.body.fresh("bad"), self.body.fresh("on")
        self.branch_on_failure(condition, bad, on)
        cold = self.body.aside()
        cold.block(bad)
        self.report(cold, site, *values)
        cold.jump(on)
        self.body.put_aside(cold)
        self.body.block(on)

    def mask_inactive(self, type: ir.Type, flags: str) -> str:
        """Returns `flags` (i1 lanes like those of `type`) cleared in lanes of inactive work-items. In scalar code all lanes
        belong to one active work-item."""
        return flags

    def unused_lanes(self, type: ir.Type) -> frozenset[int]:
        """Returns the lanes of a value of `type` that belong to lanes of the current instruction's result which nothing uses."""
        if self.current is None or not isinstance(type, ir.Vector) or type.count != llvm_types.lanes_of(self.current.type):
            return frozenset()
        return frozenset(range(type.count)) - self.unit.lane_uses(self.function).demand(self.current).any

    def branch_on_failure(self, condition: str, failed: str, ok: str) -> None:
        """Emits the branch of a check. With deferred checks it has no branch weights, so that LLVM may turn it into a mask."""
        self.body.branch(condition, failed, ok, unlikely=not self.unit.deferred_checks)

    # Code

    def leave_at_sync(self, segment: Segment) -> None:
        """Ends the region at the synchronisation point of the segment."""
        raise NotImplementedError

    def poll(self, loc: ir.SourceLoc) -> None:
        """Emits a test of the stop flag, which ends the work-item if set."""
