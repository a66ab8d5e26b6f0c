"""Sizes and field offsets of IR types in SPIR's data layout (OpenCL C 3.0, section 6.3.5: alignment equals size)."""

from __future__ import annotations

import functools

from ..base.alignment import align_up
from .ir import Array, Event, Float, Int, Pointer, Struct, Type, Vector


@functools.lru_cache(maxsize=4096)
def size_of(type: Type) -> int:
    """Returns the bytes from one array element of `type` to the next. A vector of 3 takes the space of 4."""
    if isinstance(type, (Int, Float)):
        return (type.bits + 7) // 8
    if isinstance(type, (Pointer, Event)):
        return 8
    if isinstance(type, Vector):
        return align_up(size_of(type.elem) * type.count, align_of(type))
    if isinstance(type, Array):
        return size_of(type.elem) * type.count
    if isinstance(type, Struct):
        return align_up(_end(type, len(type.fields)), align_of(type))
    raise ValueError(f"a value of type {type} has no size in memory")


@functools.lru_cache(maxsize=4096)
def align_of(type: Type) -> int:
    """Returns the natural alignment of `type` in bytes."""
    if isinstance(type, Vector):
        room = size_of(type.elem) * type.count
        return 1 << (room - 1).bit_length()
    if isinstance(type, Array):
        return align_of(type.elem)
    if isinstance(type, Struct):
        return 1 if type.packed else max(map(align_of, type.fields), default=1)
    return size_of(type)


@functools.lru_cache(maxsize=4096)
def field_offset(struct: Struct, index: int) -> int:
    """Returns the byte offset of field `index`."""
    alignment = 1 if struct.packed else align_of(struct.fields[index])
    return align_up(_end(struct, index), alignment)


def _end(struct: Struct, count: int) -> int:
    """Returns the bytes taken by the first `count` fields."""
    return field_offset(struct, count - 1) + size_of(struct.fields[count - 1]) if count else 0


def step(type: Type, index: int) -> tuple[Type, int]:
    """Returns the type of element `index` of an aggregate, and its byte offset."""
    if isinstance(type, Struct):
        return type.fields[index], field_offset(type, index)
    if isinstance(type, (Array, Vector)):
        return type.elem, index * size_of(type.elem)
    raise ValueError(f"cannot index into {type}")
