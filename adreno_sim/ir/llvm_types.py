"""Kernel IR types in LLVM: access sizes, spellings, zeros, lanes."""

from __future__ import annotations

from functools import cache

from . import ir
from .layout import align_of, align_up, field_offset, size_of

__all__ = ["align_of", "align_up", "elem_of", "field_offset", "lanes_of", "size_of", "spell", "store_size", "with_elem", "zero"]


@cache
def store_size(type: ir.Type) -> int:
    """Returns the bytes that one load or store of `type` accesses: a vector of 3 accesses 3 elements."""
    if isinstance(type, ir.Vector):
        return size_of(type.elem) * type.count
    return size_of(type)


@cache
def spell(type: ir.Type) -> str:
    """Returns LLVM's spelling. Every pointer is a plain `ptr`, whatever its address space."""
    if isinstance(type, ir.Pointer):
        return "ptr"
    if isinstance(type, ir.Vector):
        return f"<{type.count} x {spell(type.elem)}>"
    if isinstance(type, ir.Array):
        return f"[{type.count} x {spell(type.elem)}]"
    if isinstance(type, ir.Struct):
        body = "{ " + ", ".join(spell(f) for f in type.fields) + " }"
        return f"<{body}>" if type.packed else body
    return "i64" if isinstance(type, ir.Event) else str(type)


@cache
def zero(type: ir.Type) -> str:
    """Returns the all-zero constant of `type`."""
    if isinstance(type, ir.Event):
        return "0"
    if isinstance(type, ir.Int):
        return "false" if type.bits == 1 else "0"
    if isinstance(type, ir.Float):
        return {16: "0xH0000", 32: "0.0", 64: "0.0"}[type.bits]
    return "null" if isinstance(type, ir.Pointer) else "zeroinitializer"


def elem_of(type: ir.Type) -> ir.Type:
    """Returns the element type of a vector, or the type itself."""
    return type.elem if isinstance(type, ir.Vector) else type


def elem_bits(type: ir.Type) -> int:
    """Bits of an integer or a float, or of an element of a vector of these."""
    elem = elem_of(type)
    assert isinstance(elem, (ir.Int, ir.Float))
    return elem.bits


def lanes_of(type: ir.Type) -> int:
    return type.count if isinstance(type, ir.Vector) else 1


def with_elem(type: ir.Type, elem: ir.Int | ir.Float) -> ir.Type:
    """Returns `type` with another element type and the same number of lanes."""
    return ir.Vector(elem, type.count) if isinstance(type, ir.Vector) else elem
