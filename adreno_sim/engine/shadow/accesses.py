"""The instrumentation of level full: each access checks and updates the shadow of its memory, each use of a value its
definedness."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Object, Ptr
from ...ir.queries import private_bytes
from ..abi import argument_block, context
from ..abi.specialization import BufferArg, ImageArg, ShadowSpec
from ..emit import access
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from . import init_shadow, race_cells
from .races import AccessInfo, CellRange, RaceChecks, make_site
from .shadow_plan import CELL_BYTES, ShadowPlan
from .uses import Demand, demand_all
from .values import UndefMasks

Report = Callable[[Text, DiagnosticSite], None]
"""Writes the report of a site into cold code, with the values that belong to its shape."""


class ShadowInstrumentation(Instrumentation):
    """The callbacks for one region emitter."""

    def __init__(self, e: RegionEmitter, plan: ShadowPlan):
        self.e, self.plan = e, plan
        self.values = UndefMasks(e, plan)
        self.races = RaceChecks(e)
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
        size = llvm_types.store_size(type)
        what = self._access_info(pointer, size)
        self._check(self._init_bytes(pointer), type, instr, what)
        self.races.emit_read_check(self._race_cells(pointer, size), what, "reads")

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        size = llvm_types.store_size(type)
        init = self._init_bytes(pointer)
        if init is not None:
            masks = self.values.parts(value) if value is not None else []
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type, masks))
        here = self._race_cells(pointer, size)
        if here is not None:
            self.races.emit_write_check(
                here, self._access_info(pointer, size), "writes", lambda t: self._emit_same(t, pointer, type, operand)
            )

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        size = llvm_types.store_size(type)
        what, init, here = self._access_info(pointer, size), self._init_bytes(pointer), self._race_cells(pointer, size)
        if reads:
            self._check(init, type, None, what)
        if writes and init is not None:
            self._if_present(pointer, init, lambda: init_shadow.emit_mark(self.e.body, init, type, []))
        if writes and here is not None:
            self.races.emit_write_check(here, what, "updates", None, race_cells.ATOMIC)
        elif here is not None:
            self.races.emit_read_check(here, what, "loads", race_cells.ATOMIC)

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        init = self._init_bytes(pointer)
        if init is not None:
            self._if_present(pointer, init, lambda: init_shadow.emit_fill(self.e.body, self.e.unit, init, str(nbytes)))
        here = self._race_cells(pointer, nbytes)
        if here is not None:
            self.races.emit_write_check(here, self._access_info(pointer, nbytes), "writes", None)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        """The init shadow is copied with the bytes: a copy is not a use."""
        t, unit = self.e.body, self.e.unit
        init, origin = self._init_bytes(target), self._init_bytes(source)
        if init is not None and origin is not None and not self._is_known(source):
            self._if_present(target, init, lambda: self._copy_from_optional(init, origin, nbytes))
        elif init is not None:
            self._if_present(target, init, lambda: init_shadow.emit_copy(t, unit, init, origin, nbytes))
        known = int(nbytes) if nbytes.isdigit() else 0
        if source is not None:
            here = self._race_cells_of_range(source, nbytes)
            if here is not None:
                self.races.emit_read_check(here, self._access_info(source, known), "reads")
        here = self._race_cells_of_range(target, nbytes)
        if here is not None:
            self.races.emit_write_check(here, self._access_info(target, known), "writes", None)

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
        spec = self._spec(image.param.index)
        if spec is None:
            return
        what = self._texel_info(image, where)
        init = self.e.body.op(f"getelementptr i8, ptr {self._field(image.param.index, 0)}, i64 {offset}")
        self._check_texel(init, image, instr, what)
        self.races.emit_read_check(self._argument_cells(image.param.index, offset, image.format.texel_bytes), what, "reads")

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        if self._spec(image.param.index) is None:
            return
        t = self.e.body
        init = t.op(f"getelementptr i8, ptr {self._field(image.param.index, 0)}, i64 {offset}")
        init_shadow.emit_mark(t, init, type, [])
        here = self._argument_cells(image.param.index, offset, image.format.texel_bytes)
        if here is None:
            return

        def same(t: Text) -> str:
            return self._emit_same_bits(t, t.op(f"getelementptr i8, ptr {image.field('address')}, i64 {offset}"), type, operand)

        number = self.races.emit_write_check(here, self._texel_info(image, where), "writes", same)
        self.plan.texel_writes.add(number, self.values.block_of_current())

    def on_alloca(self, variable: ir.Instr) -> None:
        fill = self.e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        base = self._private_base(self.e.object(("alloca", id(variable))))
        self.e.opening.do(f"call {fill}(ptr {base}, i8 0, i64 {private_bytes(variable)}, i1 false)")

    # Where shadows lie

    def _spec(self, index: int) -> ShadowSpec | None:
        arg = self.e.unit.spec.args[index]
        return arg.shadow if isinstance(arg, (BufferArg, ImageArg)) else None

    def _field(self, index: int, which: int) -> str:
        """Returns the address of an argument's init shadow (0) or race cells (1)."""
        at = argument_block.shadow_offset(self.e.unit.spec.args[index]) + 8 * which
        return self.e.argument_field(index, at, "ptr")

    def _base(self, target: Object) -> str | None:
        """Returns the init shadow of an object; None if all of it always counts as initialised."""
        which = target.id[1]
        if target.kind == "buffer":
            assert isinstance(which, int)
            return self._field(which, 0) if self._spec(which) is not None else None
        if target.kind == "local":
            return self.e.prologue.op(
                f"getelementptr i8, ptr %arena, i64 {self.plan.local_init_shadow + self._local_offset(target)}"
            )
        return self._private_base(target) if target.kind == "private" else None

    def _local_offset(self, target: Object) -> int:
        return self.e.unit.local_offsets[target.id[1]]

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
        if which not in self.plan.private:
            items = 1 if e.plan.is_single_region else e.unit.spec.items
            self.plan.private[which] = e.unit.reserve_arena((stride or size) * items)
        start = e.prologue.op(f"getelementptr i8, ptr %arena, i64 {self.plan.private[which]}")
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
        for target in self._candidates():
            shadow = self._base(target)
            if shadow is not None:
                hit = t.op(f"icmp eq ptr {pointer.base}, {target.base}")
                moved = t.op(f"getelementptr i8, ptr {shadow}, i64 {pointer.offset}")
                base = t.op(f"select i1 {hit}, ptr {moved}, ptr {base}")
        return base

    def _candidates(self) -> list[Object]:
        return [self.e.object(object_id) for object_id in self.e.candidates()]

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

    def _race_cells(self, pointer: Ptr, size: int) -> CellRange | None:
        """Returns the race cells of an access of constant size."""
        target = pointer.object
        if target is None:
            return self._unknown_cells(pointer, size)
        if target.kind == "buffer":
            assert isinstance(target.id[1], int)
            return self._argument_cells(target.id[1], str(pointer.offset), size)
        if target.kind != "local" or target.id in self.e.unit.spec.proofs.race_free_locals:
            return None
        return self._local_cells(
            target, str(pointer.offset), self._cell_count(str(pointer.offset), size, self.plan.local_granularity)
        )

    def _cell_count(self, offset: str, size: int | str, granularity: int) -> str | int:
        """Returns the number of cells that `size` bytes touch. A constant size covers whole cells."""
        if isinstance(size, int):
            return max(1, size // granularity)
        t, shift = self.e.body, granularity.bit_length() - 1
        some = t.op(f"icmp ne i64 {size}, 0")
        last = t.op(f"sub i64 {t.op(f'add i64 {offset}, {size}')}, 1")
        span = t.op(f"sub i64 {t.op(f'lshr i64 {last}, {shift}')}, {t.op(f'lshr i64 {offset}, {shift}')}")
        return t.op(f"select i1 {some}, i64 {t.op(f'add i64 {span}, 1')}, i64 0")

    def _race_cells_of_range(self, pointer: Ptr, nbytes: str) -> CellRange | None:
        """Returns the race cells of `nbytes` bytes."""
        size: int | str = int(nbytes) if nbytes.isdigit() else nbytes
        target, offset = pointer.object, str(pointer.offset)
        if target is None:
            return self._unknown_cells(pointer, size)
        if target.kind == "buffer":
            assert isinstance(target.id[1], int)
            return self._argument_cells(target.id[1], offset, size)
        if target.kind != "local" or target.id in self.e.unit.spec.proofs.race_free_locals:
            return None
        return self._local_cells(target, offset, self._cell_count(offset, size, self.plan.local_granularity))

    def _argument_cells(self, index: int, offset: str, size: int | str) -> CellRange | None:
        spec = self._spec(index)
        if spec is None or not spec.cell_words:
            return None
        count = self._cell_count(offset, size, spec.granularity)
        address = self._cell_address(self._field(index, 1), offset, spec.granularity, 8 * spec.cell_words)
        limit, since = self.races.word(context.LAUNCH_EPOCH), self.races.word(context.SINCE_GLOBAL)
        return CellRange(address, count, 8 * spec.cell_words, limit, since, local=False, allows_overwrite=False)

    def _local_cells(self, target: Object, offset: str, count: str | int) -> CellRange:
        start = self.plan.local_cell_offset + self._local_offset(target) // self.plan.local_granularity * CELL_BYTES
        base = self.e.prologue.op(f"getelementptr i8, ptr %arena, i64 {start}")
        since = self.races.word(context.SINCE_LOCAL)
        address = self._cell_address(base, offset, self.plan.local_granularity, CELL_BYTES)
        return CellRange(address, count, CELL_BYTES, since, since, local=True, allows_overwrite=True)

    def _unknown_cells(self, pointer: Ptr, size: int | str) -> CellRange:
        """Returns the cells of the object found at run time. If it has none, they are a scratch cell in which no comparison
        finds a race."""
        t, prologue = self.e.body, self.e.prologue
        count = self._cell_count(str(pointer.offset), size, self.plan.local_granularity)
        room = CELL_BYTES * (count if isinstance(count, int) else 1)
        scratch = prologue.op(f"alloca [{room} x i8], align 16")
        init_shadow.emit_clear(prologue, self.e.unit, scratch, room)
        address, limit, since, found = scratch, "-1", "0", "false"
        for target in self._candidates():
            here = None
            if target.kind == "buffer":
                assert isinstance(target.id[1], int)
                here = self._argument_cells(target.id[1], str(pointer.offset), size)
            elif target.kind == "local":
                here = self._local_cells(target, str(pointer.offset), count)
            if here is None:
                continue
            hit = t.op(f"icmp eq ptr {pointer.base}, {target.base}")
            address = t.op(f"select i1 {hit}, ptr {here.address}, ptr {address}")
            limit = t.op(f"select i1 {hit}, i64 {here.limit}, i64 {limit}")
            since = t.op(f"select i1 {hit}, i64 {here.since}, i64 {since}")
            found = t.op(f"or i1 {hit}, {found}")
        if not isinstance(count, int):
            count = t.op(f"select i1 {found}, i64 {count}, i64 0")
        return CellRange(address, count, CELL_BYTES, limit, since, local=False, allows_overwrite=True)

    def _cell_address(self, base: str, offset: str, granularity: int, stride: int) -> str:
        t, shift = self.e.body, granularity.bit_length() - 1
        if offset == "0":
            return base
        index = t.op(f"lshr i64 {offset}, {shift}") if shift else offset
        return t.op(f"getelementptr [{stride} x i8], ptr {base}, i64 {index}")

    # Findings

    def _access_info(self, pointer: Ptr, size: int) -> AccessInfo:
        view = pointer.object.name if pointer.object else ""
        return AccessInfo("offset", view, size, 0, lambda t: access.site_values(self.e, pointer, t))

    def _texel_info(self, image: ImageRef, where: Sequence[str]) -> AccessInfo:
        def values(t: Text) -> list[str]:
            found = [t.op(f"sext i32 {c} to i64") for c in where] + ["0"] * (3 - len(where))
            return found + [t.op(f"sext i32 {image.extent(d)} to i64") for d in range(len(where))] + ["0"] * (3 - len(where))

        return AccessInfo("coordinate", image.param.name, image.format.texel_bytes, len(where), values)

    # Uninitialised reads

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
        self._report_missing(bad, what)

    def _check_texel(self, init: str, image: ImageRef, instr: ir.Instr | None, what: AccessInfo) -> None:
        """Emits the check of a texel, which counts as uninitialised if any of its bytes is."""
        demand = self._demand(instr, None)
        if not demand.any:
            return
        bad = init_shadow.emit_any_uninit(self.e.body, init, ir.Vector(ir.Int(8), image.format.texel_bytes))
        if instr is not None and demand.soft:
            self.values.store_read_masks(instr, dict.fromkeys(demand.soft, bad))
        if demand.hard or instr is None:
            self._report_missing(bad, what)

    def _demand(self, instr: ir.Instr | None, type: ir.Type | None) -> Demand:
        if instr is not None:
            return self.plan.uses.demand(instr)
        return demand_all(ir.Const(type, None)) if type is not None else Demand(frozenset({0}))

    def _report_missing(self, bad: str, what: AccessInfo) -> None:
        if bad == "false":
            return
        t = self.e.body
        missing, on = t.fresh("missing"), t.fresh("on")
        t.branch(bad, missing, on, unlikely=True)
        cold = t.aside()
        cold.block(missing)
        self.e.report(cold, make_site(self.e, Kind.UNINITIALIZED_READ, what, MISSING[what.shape]), *what.values(cold))
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)

    def _emit_same(self, t: Text, pointer: Ptr, type: ir.Type, operand: str) -> str:
        """Returns an i1: whether a store leaves memory unchanged."""
        return self._emit_same_bits(t, t.op(f"getelementptr i8, ptr {pointer.base}, i64 {pointer.offset}"), type, operand)

    @staticmethod
    def _emit_same_bits(t: Text, address: str, type: ir.Type, operand: str) -> str:
        word = f"i{8 * llvm_types.store_size(type)}"
        spelled = llvm_types.spell(type)
        fresh = operand if spelled == word else t.op(f"bitcast {spelled} {operand} to {word}")
        return t.op(f"icmp eq {word} {t.op(f'load {word}, ptr {address}, align 1')}, {fresh}")


MISSING = {
    "offset": "reads {size} bytes at offset {offset} of {view}, some of which nobody has written",
    "coordinate": "reads {view} at {coordinate}, which nobody has written",
}
