"""The init shadow (definedness): one byte, the mark, for each byte of memory; and the machine code that tests and sets it.

A mark of 0 says that nobody has written the byte, 1 that it is defined. A byte that was written with some undefined bits has one
more than these bits, as a number; UNDEFINED if all of them are.
"""

from __future__ import annotations

from ...ir import ir, llvm_types
from ..emit.emitter import Emitter
from ..emit.unit import Unit
from ..llvm.text import Text, any_of
from .propagation import shadow_type

_ONES = 0x0101010101010101

UNDEFINED = 0xAB
"""The mark of a byte that was written with an undefined value. It also stands for the bits 0xAA, which are too rare to matter."""


def _word_split(nbytes: int) -> tuple[int, int]:
    """Returns (bytes of a word, number of words) that make up `nbytes`."""
    size = min(8, nbytes & -nbytes)
    return size, nbytes // size


def _word_type(size: int, count: int) -> str:
    return f"i{8 * size}" if count == 1 else f"<{count} x i{8 * size}>"


def _all_init(size: int, count: int) -> str:
    """Returns the constant in which all bytes are initialised."""
    word = f"{_ONES & ((1 << 8 * size) - 1)}"
    return word if count == 1 else f"splat (i{8 * size} {word})"


def emit_any_uninit(t: Text, init: str, type: ir.Type) -> str:
    """Returns an i1: whether any byte of a value of `type` is uninitialised."""
    size, count = _word_split(llvm_types.store_size(type))
    word = _word_type(size, count)
    flag = t.op(f"icmp ne {word} {t.op(f'load {word}, ptr {init}, align 1')}, {_all_init(size, count)}")
    if count == 1:
        return flag
    return any_of(t, flag, count)


def emit_uninit_lanes(t: Text, init: str, type: ir.Type) -> list[str]:
    """Returns an i1 per lane: whether any of its bytes is uninitialised."""
    size = llvm_types.store_size(llvm_types.elem_of(type))
    flags = []
    for lane in range(llvm_types.lanes_of(type)):
        at = t.op(f"getelementptr i8, ptr {init}, i64 {lane * size}") if lane else init
        flags.append(emit_any_uninit(t, at, llvm_types.elem_of(type)))
    return flags


def emit_or(t: Text, flags: list[str]) -> str:
    """Returns an i1 that is true if any of `flags` is."""
    result = "false"
    for flag in flags:
        result = flag if result == "false" else t.op(f"or i1 {result}, {flag}")
    return result


def emit_mark(t: Text, init: str, type: ir.Type) -> None:
    """Emits the update after a store of a value of `type` that is defined."""
    size, count = _word_split(llvm_types.store_size(type))
    t.do(f"store {_word_type(size, count)} {_all_init(size, count)}, ptr {init}, align 1")


def emit_mark_bits(t: Text, init: str, type: ir.Type, shadow: str, padding: frozenset[int]) -> None:
    """Emits the update after a store of a value of `type`; `shadow` has its undefined bits. padding: the lanes that
    count as unwritten in any case."""
    size = llvm_types.store_size(type)
    spelled, bits = f"<{size} x i8>", llvm_types.spell(shadow_type(type))
    undefined = t.op(f"bitcast {bits} {shadow} to {spelled}")
    whole = t.op(f"icmp eq {spelled} {undefined}, splat (i8 -1)")
    partly = t.op(f"add {spelled} {undefined}, splat (i8 1)")
    marks = t.op(f"select <{size} x i1> {whole}, {spelled} splat (i8 {UNDEFINED}), {spelled} {partly}")
    if padding:
        width = llvm_types.store_size(llvm_types.elem_of(type))
        kept = ", ".join(f"i8 {0 if byte // width in padding else -1}" for byte in range(size))
        marks = t.op(f"and {spelled} {marks}, <{kept}>")
    t.do(f"store {spelled} {marks}, ptr {init}, align 1")


def emit_undefined_bits(t: Text, init: str, type: ir.Type) -> str:
    """Returns the shadow of a value of `type` that is in memory: its bits that are undefined."""
    size = llvm_types.store_size(type)
    spelled = f"<{size} x i8>"
    marks = t.op(f"load {spelled}, ptr {init}, align 1")
    whole = t.op(f"icmp eq {spelled} {marks}, splat (i8 {UNDEFINED})")
    partly = t.op(f"add {spelled} {marks}, splat (i8 -1)")
    bits = t.op(f"select <{size} x i1> {whole}, {spelled} splat (i8 -1), {spelled} {partly}")
    return t.op(f"bitcast {spelled} {bits} to {llvm_types.spell(shadow_type(type))}")


def emit_one_mark(t: Text, undefined: str) -> str:
    """Returns the mark of bytes that are undefined if the i1 `undefined` is set."""
    return "1" if undefined == "false" else t.op(f"select i1 {undefined}, i8 {UNDEFINED}, i8 1")


def emit_fill(t: Text, unit: Unit, init: str, nbytes: str, mark: str = "1") -> None:
    """Emits code that gives `nbytes` bytes a mark: without another, that of initialised ones."""
    memset = unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    t.do(f"call {memset}(ptr {init}, i8 {mark}, i64 {nbytes}, i1 false)")


def emit_copy(t: Text, unit: Unit, init: str, origin: str | None, nbytes: str) -> None:
    """Emits the copy of the init shadow of `nbytes` bytes from `origin`. None means that all of the source is initialised."""
    if origin is None:
        emit_fill(t, unit, init, nbytes)
        return
    memmove = unit.declare("llvm.memmove.p0.p0.i64", "void", "ptr, ptr, i64, i1")
    t.do(f"call {memmove}(ptr {init}, ptr {origin}, i64 {nbytes}, i1 false)")


def emit_clear(t: Text, unit: Unit, address: str, nbytes: int) -> None:
    """Emits code that zeroes `nbytes` bytes of a shadow."""
    memset = unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    t.do(f"call {memset}(ptr {address}, i8 0, i64 {nbytes}, i1 false)")


def emit_or_all_init(e: Emitter, init: str, sure: bool) -> str:
    """Returns an init shadow that can be read: `init`, or a fully initialised one if `init` may be null."""
    if sure:
        return init
    whole = e.prologue.op("alloca [128 x i8], align 16")
    emit_fill(e.prologue, e.unit, whole, "128")
    none = e.body.op(f"icmp eq ptr {init}, null")
    return e.body.op(f"select i1 {none}, ptr {whole}, ptr {init}")
