"""The callbacks of counted code. Counts go to the counter block (`abi.counting`); `runtime/counters.c` traces waves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.printer import place_text
from ...ir.provenance import Ptr
from ..abi import context, counting
from ..abi.count_table import CountedSite
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from .loops import WHOLE
from .plan import STATE_BYTES, CountingPlan

_WHOLE_KEY = 1
"""The key outside of all loops."""

_IN_BLOCKS = ("image2d", "image2d_array")
"""Kinds of images whose texels are in blocks."""


class Counting(Instrumentation):
    """The callbacks for one region."""

    def __init__(self, e: RegionEmitter, plan: CountingPlan):
        self.e, self.plan = e, plan
        self._lane = self._state = self._traced = ""
        self._known_bits: dict[tuple[int, int], str] = {}
        self._counts = context.read(e.prologue, context.COUNTERS, "ptr")

    def on_item(self) -> None:
        """Tells the runtime which work-item runs, and finds the states of its loops."""
        t, first = self.e.body, self.e.region.number == 0
        self._lane = self.e.item_ids.local_linear(t)
        traced = t.op(f"call i64 @count_item(ptr {self._counts}, i64 %gl, i64 {self._lane}, i64 {int(first)})")
        self._traced = t.op(f"icmp ne i64 {traced}, 0")
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
            self._add(t, counting.COUNT_HEAD + segment.number, "1")
            loop = self.plan.loops.heads.get(segment.block) if segment.start == 0 else None
            if loop is not None:
                with self._if_traced(t):
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
        place = CountedSite(where=place_text(instr.loc), segment=self.plan.last_segment[id(instr)])
        with self._if_traced(t):
            if instr.op == "condbr":
                way = t.op(f"zext {operand} to i64")
            else:
                way = "0"
                for case, target in zip(instr.cases, instr.blocks[1:], strict=True):
                    way = t.op(f"select i1 {t.op(f'icmp eq {operand}, {case}')}, i64 {ways.index(target)}, i64 {way}")
            record = self._record(t, self.plan.place(instr, "branch", place))
            t.do(f"call void @trace_branch(ptr {self._counts}, ptr {record}, i64 {self._key(t, instr)}, i64 {way})")

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
        self._count_texel(image, offset, reads=True, where=where)

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        self._count_texel(image, offset, reads=False)

    def _count_texel(self, image: ImageRef, offset: str, reads: bool, where: Sequence[str] = ()) -> None:
        t, index, nbytes = self.e.body, image.param.index, image.format.texel_bytes
        place = CountedSite(index, reads, not reads, place_text(self.e.loc), nbytes)
        record = self._count_run(t, self.plan.place(self.e.current, ("texel", index), place))
        self._mark(t, index, offset, nbytes, 1, reads, not reads)
        how = counting.HOW_LINES | index | _direction(reads, not reads)
        with self._if_traced(t):
            if self.e.unit.spec.texel_blocks and image.kind in _IN_BLOCKS and reads:
                self._trace(t, record, self._address_in_blocks(t, image, where), 1, how)
            else:
                start = t.op(f"ptrtoint ptr {image.field('address')} to i64")
                self._trace(t, record, t.op(f"add i64 {start}, {offset}"), nbytes, how)

    def _address_in_blocks(self, t: Text, image: ImageRef, where: Sequence[str]) -> str:
        """Returns an address for a texel by which the texels of a block are in one line, and all have their own: lines of blocks
        are not those of memory."""
        wide, high = (size.bit_length() - 1 for size in counting.TEXEL_BLOCK)
        across = t.op(f"lshr i32 {t.op(f'add i32 {image.extent(0)}, {(1 << wide) - 1}')}, {wide}")
        down = t.op(f"lshr i32 {where[1]}, {high}")
        if image.kind == "image2d_array":
            rows = t.op(f"lshr i32 {t.op(f'add i32 {image.extent(1)}, {(1 << high) - 1}')}, {high}")
            down = t.op(f"add i32 {down}, {t.op(f'mul i32 {where[2]}, {rows}')}")
        row = t.op(f"mul i32 {down}, {across}")
        block = t.op(f"zext i32 {t.op(f'add i32 {row}, ' + t.op(f'lshr i32 {where[0]}, {wide}'))} to i64")
        low = t.op(f"shl i32 {t.op(f'and i32 {where[1]}, {(1 << high) - 1}')}, {wide}")
        inside = t.op(f"zext i32 {t.op(f'or i32 {low}, ' + t.op(f'and i32 {where[0]}, {(1 << wide) - 1}'))} to i64")
        number = t.op(f"or i64 {t.op(f'shl i64 {block}, {wide + high}')}, {inside}")
        line = t.op(f"load i64, ptr {self._record(t, counting.LINE_SHIFT)}, align 8, !invariant.load !1")
        scaled = t.op(f"shl i64 {number}, {t.op(f'sub i64 {line}, {wide + high}')}")
        return t.op(f"or i64 {scaled}, {(image.param.index + 1) << 56}")

    def _count_access(self, pointer: Ptr, nbytes: int | str, role: str, reads: bool = False, writes: bool = False) -> None:
        t, target = self.e.body, pointer.object
        if target is None:
            self._count_somewhere(t, pointer, nbytes, role, reads, writes)
        elif target.kind != "null":
            index = target.id[1] if target.kind == "buffer" else None
            assert index is None or isinstance(index, int)
            nbytes = int(nbytes) if str(nbytes).isdigit() else nbytes
            known = nbytes if isinstance(nbytes, int) else None
            place = CountedSite(target.kind if index is None else index, reads, writes, place_text(self.e.loc), known)
            word = self.plan.place(self.e.current, (role, place.target, known), place)
            record = self._count_run(t, word)
            if known is None:
                self._add(t, word + counting.PLACE_BYTES, str(nbytes))
            if index is not None:
                self._mark(t, index, str(pointer.offset), nbytes, pointer.align, reads, writes)
            traced = {"buffer": counting.HOW_LINES, "local": counting.HOW_BANKS}.get(target.kind, 0)
            span = counting.NO_SPAN if index is None else index
            if traced:
                with self._if_traced(t):
                    address = t.op(f"ptrtoint ptr {self.e.address(pointer)} to i64")
                    self._trace(t, record, address, nbytes, traced | span | _direction(reads, writes))

    def _count_somewhere(self, t: Text, pointer: Ptr, nbytes: int | str, role: str, reads: bool, writes: bool) -> None:
        """Counts an access whose object only the run knows."""
        everything = [*range(len(self.e.function.params)), "local", "private"]
        places = (CountedSite(name, reads, writes, place_text(self.e.loc)) for name in everything)
        record = self._record(t, self.plan.place(self.e.current, (role, "somewhere"), *places))
        address = t.op(f"ptrtoint ptr {self.e.address(pointer)} to i64")
        low = self.e.prologue.op("ptrtoint ptr %mem to i64")
        what = f"i64 {self._key(t, self.e.current)}, i64 {address}, i64 {nbytes}, i64 {_direction(reads, writes)}, i64 {low}"
        t.do(f"call void @count_access_somewhere(ptr {self._counts}, ptr {record}, {what})")

    def _mark(self, t: Text, index: int, offset: str, nbytes: int | str, align: int, reads: bool, writes: bool) -> None:
        """Emits that bytes of an argument were touched."""
        if self.e.unit.spec.sampled:
            return
        for wanted, word in ((reads, counting.SPAN_READ), (writes, counting.SPAN_WRITTEN)):
            if not wanted:
                continue
            bits = self._bits(index, word)
            if isinstance(nbytes, str) or nbytes > 64:
                t.do(f"call void @mark_bytes(ptr {bits}, i64 {offset}, i64 {nbytes})")
                continue
            together = nbytes & (nbytes - 1) == 0 and align >= nbytes
            function = "mark_aligned_bytes" if together else "mark_few_bytes"
            t.do(f"call void @{function}(ptr {bits}, i64 {offset}, i64 {(1 << nbytes) - 1 if nbytes < 64 else -1})")

    def _bits(self, index: int, word: int) -> str:
        """Returns the bits of an argument's bytes that were read or written."""
        if (index, word) not in self._known_bits:
            t = self.e.prologue
            spans = t.op(f"load ptr, ptr {self._record(t, counting.SPANS)}, align 8, !invariant.load !1")
            at = t.op(f"getelementptr i8, ptr {spans}, i64 {(index * counting.SPAN_WORDS + word) * 8}")
            self._known_bits[index, word] = t.op(f"load ptr, ptr {at}, align 8, !invariant.load !1")
        return self._known_bits[index, word]

    def _trace(self, t: Text, record: str, address: str, nbytes: int | str, how: int) -> None:
        key = self._key(t, self.e.current)
        what = f"ptr {self._counts}, ptr {record}, i64 {key}, i64 {address}, i64 {nbytes}, i64 {how}"
        t.do(f"call void @trace_access({what})")

    @contextmanager
    def _if_traced(self, t: Text) -> Iterator[None]:
        """What is emitted inside runs for work-items of traced groups."""
        traced, on = t.fresh("traced"), t.fresh("on")
        t.branch(self._traced, traced, on, unlikely=True)
        t.block(traced)
        yield
        t.jump(on)
        t.block(on)

    # The counter block, and the states of loops

    def _record(self, t: Text, word: int) -> str:
        return t.op(f"getelementptr i8, ptr {self._counts}, i64 {word * 8}")

    def _count_run(self, t: Text, word: int) -> str:
        """Emits that an access is made. Returns the record of its place."""
        self._add(t, word + counting.PLACE_RUNS, "1")
        return self._record(t, word)

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
