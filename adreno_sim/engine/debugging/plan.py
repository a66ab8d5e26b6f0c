"""What the regions of a kernel under the debugger share: its points, and where work-items keep their variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace

from ...ir import ir, llvm_types
from ...ir.dominators import Dominators
from ...ir.loops import natural_loops
from ...ir.queries import private_bytes
from ...records import dataclass
from ..abi.debug_table import DebugTable, Point, Slot
from ..abi.specialization import LocalArg
from ..analysis.segments import Segment
from ..emit.emitter import Emitter
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import RegionEmitter, value_bytes

Key = tuple[tuple[int, ...], int]
"""The calls that a helper was inlined through, and the number of a variable."""

_WITHOUT_BYTES = (ir.Image, ir.Sampler, ir.Event, ir.Void)


@dataclass(kw_only=True)
class DebugPlan(CheckPlan):
    """points: number by the id of the instruction that begins it. slots: by variable. callbacks: those of one region."""

    callbacks: Callable[[RegionEmitter, DebugPlan], Instrumentation]
    table: DebugTable = field(default_factory=DebugTable)
    points: dict[int, int] = field(default_factory=dict)
    slots: dict[Key, Slot] = field(default_factory=dict)

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return self.callbacks(e, self)


def key_of(instr: ir.Instr) -> Key:
    """Returns which variable a note, or a private object, is of."""
    return instr.loc.callers, instr.indices[0]


def plan_debugging(plan: KernelPlan, callbacks: Callable[[RegionEmitter, DebugPlan], Instrumentation]) -> DebugPlan:
    """Returns the plan for a kernel that a debugger runs, whose private objects have their places."""
    kernel, items = plan.unit.kernel, plan.unit.spec.items
    own = DebugPlan("the debugger", callbacks=callbacks)
    table = own.table
    _place_points(own, plan.regions.graph.segments, kernel)
    table.items = items
    table.places_at = plan.unit.reserve_arena(8 * items)
    sizes = _sizes_of_values(kernel)
    objects = {key_of(i): i for i in kernel.blocks[0].instrs if i.op == "alloca" and i.indices}
    flags = plan.unit.reserve_arena(items * max(1, len(sizes)))
    for number, (key, size) in enumerate(sizes.items()):
        stored = objects.get(key)
        if stored is not None:
            offset, stride = plan.private[id(stored)]
            size = private_bytes(stored)
        else:
            offset, stride = plan.unit.reserve_arena(size * items), size
        own.slots[key] = Slot(key[1], key[0], offset, size, stride, flags + number * items, stored is not None)
    for key, stored in objects.items():
        if key not in own.slots:  # a parameter: nothing declares it later than the kernel begins
            offset, stride = plan.private[id(stored)]
            own.slots[key] = Slot(key[1], key[0], offset, private_bytes(stored), stride, -1, True)
    table.slots = list(own.slots.values())
    own.zeroed_per_group = [(table.places_at, 8 * items), (flags, items * max(1, len(sizes)))]
    table.locals = dict(_find_locals(plan))
    return own


def _find_locals(plan: KernelPlan) -> Iterator[tuple[str | int, tuple[int, int]]]:
    for param, arg in zip(plan.unit.kernel.params, plan.unit.spec.args, strict=True):
        if isinstance(arg, LocalArg):
            yield param.index, (plan.unit.reserve_local(param.index, arg.nbytes), arg.nbytes)
    for variable in plan.globals:
        if variable.space == ir.LOCAL:
            size = llvm_types.size_of(variable.type)
            yield variable.name, (plan.unit.reserve_local(variable.name, size), size)


def _sizes_of_values(kernel: ir.Function) -> dict[Key, int]:
    """Returns the bytes of the largest value of each variable that is declared or assigned, except for samplers and the like."""
    found: dict[Key, int] = {}
    notes = [i for block in kernel.blocks for i in block.instrs if i.op == "note"]
    without = {key_of(i) for i in notes if any(isinstance(ir.type_of(value), _WITHOUT_BYTES) for value in i.operands)}
    for instr in (note for note in notes if key_of(note) not in without):
        types = [ir.type_of(value) for value in instr.operands]
        size = max((8 if isinstance(type, ir.Pointer) else value_bytes(llvm_types.spell(type)) for type in types), default=0)
        found[key_of(instr)] = max(found.get(key_of(instr), 0), size)
    return found


def _place_points(own: DebugPlan, segments: Iterable[Segment], kernel: ir.Function) -> None:
    """Numbers the instructions at which a segment, or another line within it, begins."""
    of_block: dict[ir.Block, list[int]] = {}
    for segment in segments:
        before: ir.SourceLoc | None = None
        executed = [*segment.instrs, *([segment.sync.instr] if segment.sync is not None else [])]
        for instr in executed:
            loc = instr.loc
            if not loc.line or instr.op in ("phi", "alloca") or (instr.op == "note" and not instr.operands):
                continue
            is_barrier = segment.sync is not None and instr is segment.sync.instr
            if before is not None and _place(before) == _place(loc) and not is_barrier:
                continue
            before = loc
            own.table.points.append(Point(loc.line, loc.column, loc.file, loc.callers, loc.scope, is_barrier))
            own.points[id(instr)] = len(own.table.points)
            of_block.setdefault(segment.block, []).append(len(own.table.points))
    for head, body in (natural_loops(Dominators(kernel)) or {}).items():
        inside = frozenset(number for block in body for number in of_block.get(block, ()))
        if head not in of_block:
            continue
        first = of_block[head][0]
        if len({own.table.point(number).line_in(own.table.point(first).callers) for number in inside}) == 1:
            own.table.points[first - 1] = replace(own.table.points[first - 1], again=inside)


def _place(loc: ir.SourceLoc) -> tuple[int, str, tuple[int, ...]]:
    return loc.line, loc.file, loc.callers
