"""LLVM text for vectors with one element per lane: constants, splats, masks."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...ir import ir, llvm_types
from . import constants
from .text import Text


@functools.cache
def wide(type: ir.Type, lanes: int) -> ir.Vector:
    """Returns the vector type with one element of scalar `type` per lane."""
    assert isinstance(type, (ir.Int, ir.Float))
    return ir.Vector(type, lanes)


def numbers(type: ir.Type, values: Sequence[int]) -> str:
    """Returns a constant vector of integers of `type`."""
    spelled = llvm_types.spell(type)
    if len(set(values)) == 1:
        return f"splat ({spelled} {values[0]})"
    return "<" + ", ".join(f"{spelled} {v}" for v in values) + ">"


def splat(t: Text, type: ir.Type, operand: str, lanes: int) -> str:
    """Emits the scalar `operand` of `type` in every lane."""
    vector = wide(type, lanes)
    if not operand.startswith("%"):
        return constants.splat(vector, operand)
    spelled = llvm_types.spell(vector)
    first = t.op(f"insertelement {spelled} poison, {llvm_types.spell(type)} {operand}, i64 0")
    return t.op(f"shufflevector {spelled} {first}, {spelled} poison, <{lanes} x i32> zeroinitializer")


def splat_pointer(t: Text, pointer: str, lanes: int) -> str:
    """Emits a machine address in every lane."""
    vector = f"<{lanes} x ptr>"
    first = t.op(f"insertelement {vector} poison, ptr {pointer}, i64 0")
    return t.op(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")


def shuffle(t: Text, vector: str, first: str, places: Iterable[int], second: str = "poison") -> str:
    """Emits the elements at `places` of two values of type `vector`, one behind the other."""
    order = [f"i32 {place}" for place in places]
    return t.op(f"shufflevector {vector} {first}, {vector} {second}, <{len(order)} x i32> <{', '.join(order)}>")


def mask_of(flags: Iterable[bool]) -> str:
    """Returns a constant mask."""
    return "<" + ", ".join(f"i1 {'true' if flag else 'false'}" for flag in flags) + ">"


def emit_add_pattern(t: Text, type: ir.Type, operand: str, pattern: Sequence[int]) -> str:
    """Emits the scalar `operand` plus a constant per lane."""
    lanes = len(pattern)
    spread = splat(t, type, operand, lanes)
    if not any(pattern):
        return spread
    return t.op(f"add {llvm_types.spell(wide(type, lanes))} {spread}, {numbers(type, pattern)}")


def emit_and_masks(t: Text, a: str | None, b: str | None, lanes: int) -> str | None:
    """Emits the intersection of two masks; None stands for all lanes."""
    if a is None or b is None:
        return b if a is None else a
    return t.op(f"and <{lanes} x i1> {a}, {b}")


def emit_not_mask(t: Text, mask: str, lanes: int) -> str:
    return t.op(f"xor <{lanes} x i1> {mask}, splat (i1 true)")


def text_of(mask: str | None) -> str:
    """Returns a mask as an operand."""
    return "splat (i1 true)" if mask is None else mask


def bits_of(t: Text, mask: str | None, lanes: int) -> str:
    """Emits a mask of at most 32 lanes as an i32 with lane 0 in the lowest bit."""
    if mask is None:
        return str((1 << lanes) - 1)
    word = t.op(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
    return word if lanes == 32 else t.op(f"zext i{lanes} {word} to i32")


def any_of(t: Text, mask: str, lanes: int) -> str:
    """Emits an i1: whether any lane is in the mask."""
    word = t.op(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
    return t.op(f"icmp ne i{lanes} {word}, 0")


@contextmanager
def each_bit(t: Text, lowest: str, bits: str, loop: str, done: str) -> Iterator[str]:
    """Emits a loop over the bits that are set in the i32 `bits`, which is not 0. Gives the number of a bit, an i32.

    loop: its first block, to which a jump is the last that was emitted. done: the block behind it, which is opened. lowest: the
    function llvm.cttz.i32.
    """
    before = t.label
    t.block(loop)
    left = t.open_phi("i32")
    yield t.op(f"call {lowest}(i32 {left.name}, i1 true)")
    rest = t.op(f"and i32 {left.name}, {t.op(f'sub i32 {left.name}, 1')}")
    left.add((bits, before), (rest, t.label))
    t.branch(t.op(f"icmp ne i32 {rest}, 0"), loop, done)
    t.block(done)
