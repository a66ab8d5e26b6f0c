"""Elements of less than 32 bits. Vector instructions do not gather or shuffle them singly, so several are moved as one word."""

from __future__ import annotations

from ....ir import ir, llvm_types
from ...emit.pointers import LanePtr
from ...llvm import vector_text as vt
from ..emitter import VectorEmitter


def word_of(elem: ir.Type, count: int) -> ir.Int | None:
    """Returns the word that `count` consecutive small elements fill; None if they fill none."""
    size = llvm_types.size_of(elem)
    return ir.Int(8 * size * count) if size < 4 and count > 1 and size * count in (4, 8) else None


def split_word(e: VectorEmitter, whole: str, word: ir.Int, elem: ir.Type, count: int) -> list[str]:
    """Returns the elements of a vector of words, the lowest first."""
    assert isinstance(elem, (ir.Int, ir.Float))
    return [_extract_element(e, whole, word, elem, at * elem.bits) for at in range(count)]


def _extract_element(e: VectorEmitter, whole: str, word: ir.Int, elem: ir.Int | ir.Float, at: int | str) -> str:
    """Returns the element that starts at bit `at`: a number for all lanes, or a vector."""
    t, spelled = e.body, e.lanes.spelled(word)
    if at:
        amounts = vt.numbers(word, [at] * e.count) if isinstance(at, int) else at
        whole = t.op(f"lshr {spelled} {whole}, {amounts}")
    small = e.lanes.spelled(ir.Int(elem.bits))
    cut = t.op(f"trunc {spelled} {whole} to {small}")
    return cut if isinstance(elem, ir.Int) else t.op(f"bitcast {small} {cut} to {e.lanes.spelled(elem)}")


def join_word(e: VectorEmitter, parts: list[str], word: ir.Int, elem: ir.Type) -> str:
    """Returns elements packed into one word per lane."""
    assert isinstance(elem, (ir.Int, ir.Float))
    t, small, spelled, whole = e.body, e.lanes.spelled(ir.Int(elem.bits)), e.lanes.spelled(word), ""
    for at, part in enumerate(parts):
        if isinstance(elem, ir.Float):
            part = t.op(f"bitcast {e.lanes.spelled(elem)} {part} to {small}")
        wide = t.op(f"zext {small} {part} to {spelled}")
        if at:
            wide = t.op(f"shl {spelled} {wide}, {vt.numbers(word, [at * elem.bits] * e.count)}")
        whole = t.op(f"or {spelled} {whole}, {wide}") if whole else wide
    return whole


def is_word_readable(where: LanePtr, elem: ir.Type, align: int) -> bool:
    """Returns whether the 32-bit word around an element may be read: it is in the same page, and LLVM does not know where the
    object ends."""
    size = llvm_types.size_of(elem)
    return size < 4 and align >= size and where.pointer.object is not None and not has_known_end(where)


def has_known_end(where: LanePtr) -> bool:
    """Returns whether LLVM knows where the object ends that lanes access: a private variable's copies, or a constant."""
    return where.pointer.object is not None and where.pointer.object.kind not in ("buffer", "local")


def emit_word_gather(e: VectorEmitter, pointers: str, elem: ir.Type, mask: str | None) -> str:
    """Emits a load of one element per address, taken from the 32-bit word around it."""
    assert isinstance(elem, (ir.Int, ir.Float))
    t, wide, word = e.body, f"<{e.count} x i64>", ir.Int(32)
    vector = f"<{e.count} x ptr>"
    cut = e.unit.declare(f"llvm.ptrmask.v{e.count}p0.v{e.count}i64", vector, f"{vector}, {wide}")
    starts = t.op(f"call {cut}({vector} {pointers}, {wide} {vt.numbers(ir.Int(64), [-4] * e.count)})")
    whole, spelled = _gather_words(e, starts, mask), e.lanes.spelled(word)
    numbers = t.op(f"ptrtoint {vector} {pointers} to {spelled}")
    bits = t.op(f"shl {spelled} {numbers}, {vt.numbers(word, [3] * e.count)}")
    amounts = t.op(f"and {spelled} {bits}, {vt.numbers(word, [24] * e.count)}")
    return _extract_element(e, whole, word, elem, amounts)


def emit_indexed_word_gather(e: VectorEmitter, base: str, index: str, elem: ir.Type, mask: str | None) -> str:
    """Emits a load of one element per lane, at the i32 `index` from address `base`, as `emit_word_gather` does. Numbers of words
    have 32 bits too: those of 64 bits would take two vectors, and two gathers."""
    assert isinstance(elem, (ir.Int, ir.Float))
    t, word, size = e.body, ir.Int(32), llvm_types.size_of(elem)
    spelled, wide = e.lanes.spelled(word), f"<{e.count} x i64>"
    cut = e.unit.declare("llvm.ptrmask.p0.i64", "ptr", "ptr, i64")
    start = t.op(f"call {cut}(ptr {base}, i64 -4)")
    low = t.op(f"and i32 {t.op(f'ptrtoint ptr {base} to i32')}, 3")
    first = vt.splat(t, word, t.op(f"lshr i32 {low}, {size // 2}"), e.count)

    def number(value: int) -> str:
        return vt.numbers(word, [value] * e.count)

    each = 4 // size
    rest = t.op(f"add {spelled} {t.op(f'and {spelled} {index}, {number(each - 1)}')}, {first}")  # the sum of all might wrap
    words = t.op(f"ashr {spelled} {index}, {number(each // 2)}")
    words = t.op(f"add {spelled} {words}, {t.op(f'lshr {spelled} {rest}, {number(each // 2)}')}")
    pointers = t.op(f"getelementptr i32, ptr {start}, {wide} {t.op(f'sext {spelled} {words} to {wide}')}")
    whole = _gather_words(e, pointers, mask)
    bits = t.op(f"shl {spelled} {rest}, {number(2 + size)}")
    return _extract_element(e, whole, word, elem, t.op(f"and {spelled} {bits}, {number(32 - 8 * size)}"))


def _gather_words(e: VectorEmitter, pointers: str, mask: str | None) -> str:
    vector, lanes, spelled = f"<{e.count} x ptr>", f"<{e.count} x i1>", e.lanes.spelled(ir.Int(32))
    callee = e.unit.declare(f"llvm.masked.gather.v{e.count}i32.v{e.count}p0", spelled, f"{vector}, {lanes}, {spelled}")
    return e.body.op(f"call {callee}({vector} align 4 {pointers}, {lanes} {vt.text_of(mask)}, {spelled} zeroinitializer)")
