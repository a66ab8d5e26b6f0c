"""The callbacks of counted code. Counts go to the counter block (`abi.counting`); `runtime/counters.c` traces waves."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.printer import place_text
from ...ir.provenance import Ptr
from ..abi import context, counting
from ..abi.count_table import Place
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from .loops import WHOLE
from .plan import STATE_BYTES, CountingPlan

_WHOLE_KEY = 1
"""The key outside of all loops."""


class Counting(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: CountingPlan):
        self.e, self.plan = e, plan
        self._lane = self._state = ""
        self._counts = context.read(e.prologue, context.COUNTERS, "ptr")

    def on_item(self) -> None:
        """Tells the runtime which work-item runs, and where the states of its loops are."""
        t, first = self.e.body, self.e.region.number == 0
        self._lane = self.e.item_ids.local_linear(t)
        t.do(f"call void @count_item(ptr {self._counts}, i64 %gl, i64 {self._lane}, i64 {int(first)})")
        offset = t.op(f"mul i64 {self.e.slot}, {self.plan.item_bytes}")
        start = t.op(f"getelementptr i8, ptr %arena, i64 {self.plan.state_at}")
        self._state = t.op(f"getelementptr i8, ptr {start}, i64 {offset}")
        if first:
            t.do(f"store i64 {_WHOLE_KEY}, ptr {self._state_of(t, WHOLE, 8)}, align 8")
            self._reset(t, WHOLE)

    def before_instr(self, instr: ir.Instr) -> None:
        t = self.e.body
        segment = self.plan.heads.get(id(instr))
        if segment is not None:
            self._add_one(t, counting.COUNT_HEAD + segment.number)
            loop = self.plan.loops.heads.get(segment.block) if segment.start == 0 else None
            if loop is not None:
                around = self.plan.loops.around[loop]
                t.do(f"call void @count_iteration(ptr {self._state}, i64 {loop}, i64 {around})")
                self._reset(t, loop)
        if instr.op in ("condbr", "switch"):
            self._count_branch(t, instr)
        row = builtin_of(instr)
        if row.sync is not None and not row.has_result:
            self._count_barrier(t, row.sync)

    def _count_branch(self, t: Text, instr: ir.Instr) -> None:
        ways = list(dict.fromkeys(instr.blocks))
        if len(ways) < 2 or isinstance(instr.operands[0], ir.Const):
            return
        operand = self.e.typed_operand(instr.operands[0])
        if instr.op == "condbr":
            way = t.op(f"zext {operand} to i64")
        else:
            way = "0"
            for case, target in zip(instr.cases, instr.blocks[1:], strict=True):
                way = t.op(f"select i1 {t.op(f'icmp eq {operand}, {case}')}, i64 {ways.index(target)}, i64 {way}")
        place = self._record(t, self.plan.place(instr, "branch", Place(where=place_text(instr.loc))))
        t.do(f"call void @count_branch(ptr {self._counts}, ptr {place}, i64 {self._key(t, instr)}, i64 {way})")

    def _count_barrier(self, t: Text, scope: str) -> None:
        """Counts a barrier once for a group, one of a sub-group once for the sub-group."""
        wave = self.e.unit.spec.wave_size
        lane = t.op(f"urem i64 {self._lane}, {wave}") if scope == "wave" else self._lane
        self._add(t, counting.COUNTED_BARRIERS, t.op(f"zext i1 {t.op(f'icmp eq i64 {lane}, 0')} to i64"))

    # Accesses

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        self._count_access(pointer, llvm_types.store_size(type), "load", reads=True)

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        self._count_access(pointer, llvm_types.store_size(type), "store", writes=True)

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        self._count_access(pointer, llvm_types.store_size(type), "atomic", reads, writes)

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        self._count_access(pointer, nbytes, "fill", writes=True)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        if source is not None:
            self._count_access(source, nbytes, "source", reads=True)
        self._count_access(target, nbytes, "target", writes=True)

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        self._count_texel(image, offset, reads=True)

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        self._count_texel(image, offset, reads=False)

    def _count_texel(self, image: ImageRef, offset: str, reads: bool) -> None:
        t, index = self.e.body, image.param.index
        start = t.op(f"ptrtoint ptr {image.field('address')} to i64")
        address = t.op(f"add i64 {start}, {offset}")
        place = Place(index, reads, not reads, place_text(self.e.loc))
        how = counting.HOW_LINES | counting.HOW_IMAGE | index
        self._call("count_access", "texel", (place,), address, image.format.texel_bytes, how | _direction(reads, not reads))

    def _count_access(self, pointer: Ptr, nbytes: int | str, role: str, reads: bool = False, writes: bool = False) -> None:
        t, target = self.e.body, pointer.object
        address = t.op(f"ptrtoint ptr {self.e.address(pointer)} to i64")
        how, where = _direction(reads, writes), place_text(self.e.loc)
        if target is None:
            everything = [*range(len(self.e.function.params)), "local", "private"]
            places = tuple(Place(name, reads, writes, where) for name in everything)
            low = self.e.prologue.op("ptrtoint ptr %mem to i64")
            self._call("count_access_somewhere", role, places, address, nbytes, how, f", i64 {low}")
            return
        if target.kind == "null":
            return
        index = target.id[1] if target.kind == "buffer" else None
        assert index is None or isinstance(index, int)
        traced = {"buffer": counting.HOW_LINES, "local": counting.HOW_BANKS}.get(target.kind, 0)
        how |= traced | (counting.NO_SPAN if index is None else index)
        place = Place(target.kind if index is None else index, reads, writes, where)
        self._call("count_access", role, (place,), address, nbytes, how)

    def _call(
        self, function: str, role: str, places: tuple[Place, ...], address: str, nbytes: int | str, how: int, more: str = ""
    ) -> None:
        t, instr = self.e.body, self.e.current
        record = self._record(t, self.plan.place(instr, (role, places[0].target), *places))
        key = self._key(t, instr)
        what = f"ptr {self._counts}, ptr {record}, i64 {key}, i64 {address}, i64 {nbytes}, i64 {how}{more}"
        t.do(f"call void @{function}({what})")

    # The counter block, and the states of loops

    def _record(self, t: Text, word: int) -> str:
        return t.op(f"getelementptr i8, ptr {self._counts}, i64 {word * 8}")

    def _add_one(self, t: Text, word: int) -> None:
        self._add(t, word, "1")

    def _add(self, t: Text, word: int, some: str) -> None:
        at = self._record(t, word)
        before = t.op(f"load i64, ptr {at}, align 8")
        t.do(f"store i64 {t.op(f'add i64 {before}, {some}')}, ptr {at}, align 8")

    def _key(self, t: Text, instr: ir.Instr | None) -> str:
        block = self.plan.block_of.get(id(instr))
        loop = WHOLE if block is None else self.plan.loops.innermost.get(block, WHOLE)
        return str(_WHOLE_KEY) if loop == WHOLE else t.op(f"load i64, ptr {self._state_of(t, loop, 8)}, align 8")

    def _state_of(self, t: Text, loop: int, word: int = 0) -> str:
        return t.op(f"getelementptr i8, ptr {self._state}, i64 {loop * STATE_BYTES + word}")

    def _reset(self, t: Text, loop: int) -> None:
        """Emits that the loops directly inside a loop have had no iteration."""
        for inner in self.plan.loops.inside(loop):
            t.do(f"store i64 0, ptr {self._state_of(t, inner)}, align 8")


def _direction(reads: bool, writes: bool) -> int:
    return (counting.HOW_READS if reads else 0) | (counting.HOW_WRITES if writes else 0)
