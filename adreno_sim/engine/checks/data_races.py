"""Data races, and stores that their own work-item overwrites: each access compares and updates the race cells of its memory.

Cells hold the last accesses of each unit of memory (`abi.race_cells`). An argument that no work-item writes in this launch,
or in which each byte belongs to one work-item, has none. Local memory also has none if it is proven race-free. Vector code has no
such check: its lanes would have to take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from ...ir import ir, llvm_types
from ...ir.memory_ops import address_operands, touches_memory
from ...ir.provenance import Object, ObjectId, Ptr
from ...records import dataclass
from ..abi import context, race_cells
from ..abi.specialization import ImageArg, LocalArg, shadow_of
from ..emit.check import Check
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.region import RegionEmitter
from ..emit.sync_points import varying_fence_flags
from ..emit.tables.post_dominated_sites import PostDominatedSites
from ..llvm.text import Text, emit_add_i64
from ..shadow import init_shadow
from ..shadow.access_info import cells_of_argument, describe_access, describe_texel, shadow_spec
from ..shadow.argument_cells import words_of_cells
from ..shadow.granularity import MAX_GRANULARITY, granularities_of, is_used_whole, used_runs
from ..shadow.races import CellRange, RaceChecks


class DataRaces(Check):
    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        reason = _find_reason(plan)
        return RacePlan.make(plan, reason) if reason else None


def _find_reason(plan: KernelPlan) -> str:
    """Returns for which memory work-items may race in this launch; "" if for none."""
    unit = plan.unit
    for param, arg in zip(unit.kernel.params, unit.spec.args, strict=True):
        shadow = shadow_of(arg)
        if shadow is not None and shadow.cell_words:
            return f"{param.name}, which work-items may race for"
    return "local memory that work-items may race for" if unit.local_bytes and _may_race_locally(plan) else ""


def _may_race_locally(plan: KernelPlan) -> bool:
    """Returns whether an access may reach local memory that is not proven race-free."""
    unit = plan.unit
    for instr in (i for block in unit.kernel.blocks for i in block.instrs if touches_memory(i)):
        for target in address_operands(instr):
            if isinstance(ir.type_of(target), ir.Image):
                continue
            object_id = plan.provenance.object_id(target)
            if object_id is None:
                return True
            is_local = object_id[0] in ("global", "param") and object_id[1] in unit.local_offsets
            if is_local and object_id not in unit.spec.proofs.race_free_locals:
                return True
    return False


@dataclass
class RacePlan(CheckPlan):
    """What the regions share. One cell of `stride` bytes for each `granularity` bytes of local memory; those of the whole local
    memory are at `local_cells` of the arena. texel_writes: the blocks of texel writes, by number of their site."""

    kernel_plan: KernelPlan = field(kw_only=True)
    granularity: int = MAX_GRANULARITY
    stride: int = 0
    local_cells: int = 0
    texel_writes: dict[int, list[ir.Block]] = field(default_factory=dict)
    block_of: dict[int, ir.Block] = field(default_factory=dict)

    @staticmethod
    def make(plan: KernelPlan, reason: str) -> RacePlan:
        unit, kernel = plan.unit, plan.unit.kernel
        granularities = granularities_of(kernel, plan.provenance)
        local = [object_id for object_id in granularities.by_object if _is_local(object_id, unit.spec.args)]
        least = min(map(granularities.of, local), default=MAX_GRANULARITY)
        granularity = granularities.least if granularities.unknown else least
        stride = 8 * words_of_cells(granularities, local)
        nbytes = unit.local_bytes // granularity * stride
        cells = unit.reserve_arena(nbytes)
        zeroed = [(cells, nbytes)] if nbytes else []
        block_of = {id(i): block for block in kernel.blocks for i in block.instrs}
        return RacePlan(
            reason,
            zeroed,
            counts_epochs=True,
            kernel_plan=plan,
            granularity=granularity,
            stride=stride,
            local_cells=cells,
            block_of=block_of,
        )

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return RaceInstrumentation(e, self)

    def find_post_dominated_sites(self) -> PostDominatedSites:
        return PostDominatedSites.of(self.kernel_plan.unit.kernel.blocks, self.texel_writes)


def _is_local(object_id: ObjectId, args: tuple[object, ...]) -> bool:
    """Returns whether an object is local memory. Program-scope constants count too: they are never written, and rarely reduce
    the granularity."""
    kind, which = object_id
    if kind == "param":
        assert isinstance(which, int)
        return isinstance(args[which], LocalArg)
    return kind == "global"


class RaceInstrumentation(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: RacePlan):
        self.e, self.plan = e, plan
        self.code = RaceChecks(e)

    def before_instr(self, instr: ir.Instr) -> None:
        """Tells the logical clock the flags of a barrier that are not constant."""
        flags = varying_fence_flags(instr)
        if flags is None:
            return
        t, type = self.e.body, flags.type
        wide = self.e.value(flags) if type == ir.Int(64) else t.op(f"zext {type} {self.e.value(flags)} to i64")
        at = context.field(t, context.MISSING_FLAGS)
        missing = t.op(f"or i64 {t.op(f'load i64, ptr {at}, align 8')}, {t.op(f'xor i64 {wide}, -1')}")
        t.do(f"store i64 {missing}, ptr {at}, align 8")

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        uses, size = self.e.unit.lane_uses(self.e.function), llvm_types.store_size(type)
        if instr is None or is_used_whole(instr, uses) or not isinstance(type, ir.Vector):
            self._check_read(pointer, size)
            return
        element = size // type.count
        for first, count in used_runs(instr, uses):
            offset = emit_add_i64(self.e.body, pointer.offset, first * element)
            self._check_read(replace(pointer, offset=offset, address=None), count * element)

    def _check_read(self, pointer: Ptr, size: int) -> None:
        self.code.emit_read_check(self._cells(pointer, size), describe_access(self.e, pointer, size), "reads")

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        size = llvm_types.store_size(type)
        here = self._cells(pointer, size)
        if here is not None:
            what = describe_access(self.e, pointer, size)
            self.code.emit_write_check(here, what, "writes", lambda t: _emit_same_value(t, pointer, type, operand))

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        size = llvm_types.store_size(type)
        what, here = describe_access(self.e, pointer, size), self._cells(pointer, size)
        if writes and here is not None:
            self.code.emit_write_check(here, what, "updates", None, race_cells.ATOMIC)
        elif here is not None:
            self.code.emit_read_check(here, what, "loads", race_cells.ATOMIC)

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        here = self._cells(pointer, nbytes)
        if here is not None:
            self.code.emit_write_check(here, describe_access(self.e, pointer, nbytes), "writes", None)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        size: int | str = int(nbytes) if nbytes.isdigit() else nbytes
        known, varying = (size, None) if isinstance(size, int) else (0, size)
        if source is not None:
            here = self._cells(source, size)
            if here is not None:
                self.code.emit_read_check(here, describe_access(self.e, source, known, varying), "reads")
        here = self._cells(target, size)
        if here is not None:
            self.code.emit_write_check(here, describe_access(self.e, target, known, varying), "writes", None)

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        here = self._cells_of_argument(image.param.index, offset, image.format.texel_bytes)
        self.code.emit_read_check(here, describe_texel(image, where), "reads")

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        here = self._cells_of_argument(image.param.index, offset, image.format.texel_bytes)
        if here is None:
            return

        def same(t: Text) -> str:
            address = t.op(f"getelementptr i8, ptr {image.field('address')}, i64 {offset}")
            return _emit_same_bits(t, address, type, operand)

        number = self.code.emit_write_check(here, describe_texel(image, where), "writes", same)
        block = self.plan.block_of.get(id(self.e.current))
        assert block is not None
        self.plan.texel_writes.setdefault(number, []).append(block)

    # Where cells lie

    def _cells(self, pointer: Ptr, size: int | str) -> CellRange | None:
        """Returns the race cells of an access; None if its memory has none."""
        target, offset = pointer.object, str(pointer.offset)
        if target is None:
            return self._cells_of_unknown(pointer, size)
        if target.kind == "buffer":
            assert isinstance(target.id[1], int)
            return self._cells_of_argument(target.id[1], offset, size)
        if target.kind != "local" or target.id in self.e.unit.spec.proofs.race_free_locals:
            return None
        return self._cells_of_local(target, offset, self._count(offset, size, self.plan.granularity))

    def _count(self, offset: str, size: int | str, granularity: int) -> str | int:
        """Returns the number of cells that `size` bytes touch. A constant size covers whole cells."""
        if isinstance(size, int):
            return max(1, size // granularity)
        t, shift = self.e.body, granularity.bit_length() - 1
        some = t.op(f"icmp ne i64 {size}, 0")
        last = t.op(f"sub i64 {t.op(f'add i64 {offset}, {size}')}, 1")
        span = t.op(f"sub i64 {t.op(f'lshr i64 {last}, {shift}')}, {t.op(f'lshr i64 {offset}, {shift}')}")
        return t.op(f"select i1 {some}, i64 {t.op(f'add i64 {span}, 1')}, i64 0")

    def _cells_of_argument(self, index: int, offset: str, size: int | str) -> CellRange | None:
        spec = shadow_spec(self.e, index)
        if spec is None or not spec.cell_words:
            return None
        count = self._count(offset, size, spec.granularity)
        address = self._address(cells_of_argument(self.e, index), offset, spec.granularity, 8 * spec.cell_words)
        fenced = context.SINCE_IMAGES if isinstance(self.e.unit.spec.args[index], ImageArg) else context.SINCE_GLOBAL
        limit, since = self.code.word(context.LAUNCH_EPOCH), self.code.word(fenced)
        return CellRange(address, count, 8 * spec.cell_words, limit, since, local=False, allows_overwrite=False)

    def _cells_of_local(self, target: Object, offset: str, count: str | int) -> CellRange:
        granularity = self.plan.granularity
        start = self.plan.local_cells + self.e.unit.local_offsets[target.id[1]] // granularity * self.plan.stride
        base = self.e.prologue.op(f"getelementptr i8, ptr %arena, i64 {start}")
        since = self.code.word(context.SINCE_LOCAL)
        address = self._address(base, offset, granularity, self.plan.stride)
        return CellRange(address, count, self.plan.stride, since, since, local=True, allows_overwrite=True)

    def _cells_of_unknown(self, pointer: Ptr, size: int | str) -> CellRange:
        """Returns the cells of the object found at run time. If it has none, they are a scratch cell in which no comparison
        finds a race."""
        t, prologue = self.e.body, self.e.prologue
        count = self._count(str(pointer.offset), size, self.plan.granularity)
        room = self.plan.stride * (count if isinstance(count, int) else 1)
        scratch = prologue.op(f"alloca [{room} x i8], align 16")
        init_shadow.emit_clear(prologue, self.e.unit, scratch, room)
        address, limit, since, found = scratch, "-1", "0", "false"
        for target in map(self.e.object, self.e.candidates()):
            here = None
            if target.kind == "buffer":
                assert isinstance(target.id[1], int)
                here = self._cells_of_argument(target.id[1], str(pointer.offset), size)
            elif target.kind == "local":
                here = self._cells_of_local(target, str(pointer.offset), count)
            if here is None:
                continue
            hit = t.op(f"icmp eq ptr {pointer.base}, {target.base}")
            address = t.op(f"select i1 {hit}, ptr {here.address}, ptr {address}")
            limit = t.op(f"select i1 {hit}, i64 {here.limit}, i64 {limit}")
            since = t.op(f"select i1 {hit}, i64 {here.since}, i64 {since}")
            found = t.op(f"or i1 {hit}, {found}")
        if not isinstance(count, int):
            count = t.op(f"select i1 {found}, i64 {count}, i64 0")
        return CellRange(address, count, self.plan.stride, limit, since, local=False, allows_overwrite=True)

    def _address(self, base: str, offset: str, granularity: int, stride: int) -> str:
        t, shift = self.e.body, granularity.bit_length() - 1
        if offset == "0":
            return base
        index = t.op(f"lshr i64 {offset}, {shift}") if shift else offset
        return t.op(f"getelementptr [{stride} x i8], ptr {base}, i64 {index}")


def _emit_same_value(t: Text, pointer: Ptr, type: ir.Type, operand: str) -> str:
    """Returns an i1: whether a store leaves memory unchanged."""
    return _emit_same_bits(t, t.op(f"getelementptr i8, ptr {pointer.base}, i64 {pointer.offset}"), type, operand)


def _emit_same_bits(t: Text, address: str, type: ir.Type, operand: str) -> str:
    word = f"i{8 * llvm_types.store_size(type)}"
    spelled = llvm_types.spell(type)
    fresh = operand if spelled == word else t.op(f"bitcast {spelled} {operand} to {word}")
    return t.op(f"icmp eq {word} {t.op(f'load {word}, ptr {address}, align 1')}, {fresh}")
