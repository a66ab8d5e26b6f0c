"""Addresses, loads and stores, copies, and vloadN and similar functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Union

from ...ir import ir, layout
from ...ir.builtins import builtin_of
from ...ir.provenance import gep_terms
from ...records import dataclass
from ..program import Value
from .arithmetic import regroup
from .translation import (
    ElementPointer,
    Handler,
    Translation,
    Values,
    bits_of,
    constant_index,
    lane_type,
    leaves_of,
    refuse,
    stored_bits,
)

Leaves = Sequence[tuple[int, ir.Type]]


@dataclass(frozen=True)
class Address:
    """A pointer to memory. space: as NIR's intrinsics name it."""

    value: Value
    space: str


Place = Union[ElementPointer, Address]

_SPACES = {ir.GLOBAL: "global", ir.CONSTANT: "global", ir.LOCAL: "shared", ir.PRIVATE: "scratch"}
_NEAR = 1024
"""Bytes either way that a load or store of global memory can add to its address."""
_MOST_COPIED = 4096
_BYTE = ir.Int(8)


# Addresses


def _alloca(translation: Translation, instr: ir.Instr) -> Values | ElementPointer:
    type, program = instr.elem, translation.program
    assert type is not None
    if instr.pred == ir.OF_WAVE:
        raise refuse("constant memory that a wave loads", instr)
    count = constant_index(instr.operands[0]) if instr.operands else 1
    if count is None:
        raise refuse("a private array of variable length", instr)
    size = layout.size_of(type) * count
    unit = translation.arrays.get(id(instr))
    if unit is not None and size:
        return ElementPointer(program.variable(unit * 8, size // unit), unit, program.constant(0, 32))
    return (program.constant(translation.reserve_scratch(size, max(instr.align, layout.align_of(type))), 32),)


def _gep(translation: Translation, instr: ir.Instr) -> Values | ElementPointer:
    known, terms = gep_terms(instr)
    steps: list[tuple[Value, int]] = []
    for position, size in terms:
        index = instr.operands[position]
        constant = constant_index(index)
        if constant is not None:
            known += constant * size
        else:
            value, more = _peel(translation, index)
            known += more * size
            steps.append((value, size))
    moved = move(translation, place_of(translation, instr.operands[0]), steps, known)
    return moved if isinstance(moved, ElementPointer) else (moved.value,)


def place_of(translation: Translation, pointer: ir.Value) -> Place:
    """Returns where a pointer points to. UnsupportedError for a generic pointer."""
    element, type = translation.element(pointer), ir.type_of(pointer)
    if element is not None:
        return element
    assert isinstance(type, ir.Pointer)
    if type.space == ir.GENERIC:
        raise refuse("a generic pointer whose memory is not known")
    return Address(translation.scalar(pointer), _SPACES[type.space])


def move(translation: Translation, place: Place, steps: Sequence[tuple[Value, int]], known: int) -> Place:
    """Moves a place by indices (value, bytes of each) and by bytes that are known."""
    program = translation.program
    if isinstance(place, ElementPointer):
        index = place.index
        for value, size in steps:
            index = program.op("iadd", index, _times(translation, translation.resize(value, 32, True), size // place.unit))
        if known:
            index = program.op("iadd", index, program.constant(known // place.unit, 32))
        return ElementPointer(place.variable, place.unit, index)
    base = place.value
    bits = program.bits(base)
    for value, size in steps:
        base, before = translation.split_constant(base)
        constant = translation.constant_place(base)
        base = program.op("iadd", base, _times(translation, translation.resize(value, bits, True), size))
        if constant is not None:
            moved = program.op("iadd", constant, _times(translation, translation.resize(value, 32, True), size))
            translation.note_constant_place(base, moved)
        known += before
    return Address(translation.add_constant(base, known), place.space)


def _times(translation: Translation, value: Value, factor: int) -> Value:
    program = translation.program
    if factor == 1:
        return value
    if factor > 0 and factor & (factor - 1) == 0:
        return program.op("ishl", value, program.constant(factor.bit_length() - 1, 32))
    return program.op("imul", value, program.constant(factor, program.bits(value)))


def _peel(translation: Translation, index: ir.Value) -> tuple[Value, int]:
    """Returns an index without its constant part: sext(a + 5) is sext(a) and 5, since int additions do not overflow in C.
    Unsigned ones may wrap, and stay."""
    wide = isinstance(index, ir.Instr) and index.op == "sext"
    inner, known = (index.operands[0] if isinstance(index, ir.Instr) and wide else index), 0
    if ir.type_of(inner) != ir.Int(32 if wide else 64):
        return translation.scalar(index), 0
    while isinstance(inner, ir.Instr) and inner.op == "add":
        constant = constant_index(inner.operands[1])
        if constant is None:
            break
        known += constant
        inner = inner.operands[0]
    value = translation.scalar(inner if known else index)
    return (translation.resize(value, 64, True) if wide and known else value), known


# Loads and stores


def load(translation: Translation, place: Place, leaves: Leaves, align: int) -> Values:
    """Reads scalars at byte offsets from a place."""
    program = translation.program
    found: list[Value] = []
    if isinstance(place, ElementPointer):
        for offset, type in leaves:
            value = program.get(place.variable, _element_index(translation, place, offset))
            found.append(_from_memory(translation, value, type))
        return tuple(found)
    for start, group in _groups(leaves):
        bits = stored_bits(group[0])
        name, where, indices = _access(translation, "load", place, start, bits, align)
        whole = program.intrinsic(name, where, len(group), bits, len(group), **indices)
        parts = program.parts(whole, len(group))
        found += [_from_memory(translation, value, type) for value, type in zip(parts, group, strict=True)]
    return tuple(found)


def store(translation: Translation, place: Place, leaves: Leaves, values: Values, align: int) -> None:
    """Writes scalars to byte offsets from a place."""
    program = translation.program
    stored = [_to_memory(translation, value, type) for value, (_, type) in zip(values, leaves, strict=True)]
    if isinstance(place, ElementPointer):
        for (offset, _), value in zip(leaves, stored, strict=True):
            program.put(place.variable, value, _element_index(translation, place, offset))
        return
    done = 0
    for start, group in _groups(leaves):
        value = program.vector(stored[done : done + len(group)])
        done += len(group)
        name, where, indices = _access(translation, "store", place, start, stored_bits(group[0]), align)
        if indices:
            indices["WRITE_MASK"] = (1 << len(group)) - 1
        program.intrinsic(name, [value, *where], width=len(group), **indices)


def _access(
    translation: Translation, what: str, place: Address, offset: int, bits: int, align: int
) -> tuple[str, list[Value], dict[str, int]]:
    """The intrinsic of an access, its operands, and its constants: global memory in words takes a near offset unchanged. Constant
    data of the program are read by their place there, which Mesa may know in the end."""
    program = translation.program
    constant = translation.constant_place(place.value) if what == "load" else None
    if constant is not None:
        at = program.op("iadd", constant, program.constant(offset, 32)) if offset else constant
        indices = {
            "BASE": 0,
            "RANGE": len(program.constant_data),
            "ALIGN_MUL": max(align, 1),
            "ALIGN_OFFSET": offset % max(align, 1),
        }
        return "load_constant", [at], indices
    base, known = translation.split_constant(place.value)
    total = known + offset
    if place.space == "global" and bits == 32 and align >= 4 and total % 4 == 0 and abs(total) < _NEAR:
        return f"{what}_global_ir3", [base, program.constant(total // 4, 32)], {}
    at = translation.add_constant(place.value, offset)
    return f"{what}_{place.space}", [at], {"ALIGN_MUL": max(align, 1), "ALIGN_OFFSET": offset % max(align, 1)}


def _groups(leaves: Leaves) -> list[tuple[int, list[ir.Type]]]:
    """Up to four neighbours of one size are one access: where each begins, and the types of its parts."""
    found: list[tuple[int, list[ir.Type]]] = []
    for offset, type in leaves:
        size = layout.size_of(type)
        if found:
            start, group = found[-1]
            if len(group) < 4 and layout.size_of(group[0]) == size and start + len(group) * size == offset:
                group.append(type)
                continue
        found.append((offset, [type]))
    return found


def _element_index(translation: Translation, element: ElementPointer, offset: int) -> Value:
    program = translation.program
    number = offset // element.unit
    return program.op("iadd", element.index, program.constant(number, 32)) if number else element.index


def _from_memory(translation: Translation, value: Value, type: ir.Type) -> Value:
    if type == ir.Int(1):
        return translation.program.op("ine", value, translation.program.constant(0, 8))
    return translation.resize(value, bits_of(type))


def _to_memory(translation: Translation, value: Value, type: ir.Type) -> Value:
    if type == ir.Int(1):
        return translation.program.op("b2i8", value)
    return translation.resize(value, stored_bits(type))


def _load(translation: Translation, instr: ir.Instr) -> Values:
    if id(instr) in translation.repeated:
        return translation.value(translation.repeated[id(instr)])
    return load(translation, place_of(translation, instr.operands[0]), leaves_of(instr.type), instr.align)


def _store(translation: Translation, instr: ir.Instr) -> None:
    value, pointer = instr.operands
    place = place_of(translation, pointer)
    store(translation, place, leaves_of(ir.type_of(value)), translation.value(value), instr.align)


# Copies


def _copied(instr: ir.Instr, *places: Place) -> Leaves:
    """The pieces in which so many bytes are moved."""
    count = constant_index(instr.operands[2])
    if count is None or count > _MOST_COPIED:
        raise refuse(f"{instr.op} of a length that is not known, or is beyond {_MOST_COPIED}", instr)
    for place in places:
        if isinstance(place, ElementPointer):
            return [(offset, ir.Int(place.unit * 8)) for offset in range(0, count, place.unit)]
    words = count - count % 4
    return [(offset, ir.Int(32)) for offset in range(0, words, 4)] + [(offset, _BYTE) for offset in range(words, count)]


def _copy(translation: Translation, instr: ir.Instr) -> None:
    target, source = (place_of(translation, pointer) for pointer in instr.operands[:2])
    leaves = _copied(instr, target, source)
    store(translation, target, leaves, load(translation, source, leaves, 4), 4)


def _fill(translation: Translation, instr: ir.Instr) -> None:
    target, value = place_of(translation, instr.operands[0]), translation.scalar(instr.operands[1])
    leaves = _copied(instr, target)
    wide = {bits: regroup(translation, (value,) * (bits // 8), 8, bits)[0] for bits in {stored_bits(type) for _, type in leaves}}
    store(translation, target, leaves, tuple(wide[stored_bits(type)] for _, type in leaves), 4)


# vloadN, vstoreN and those of halves

_WIDTH = re.compile(r"v(?:load|store)a?(?:_half)?(\d*)(_rt[ezpn])?")


def access_vector(translation: Translation, instr: ir.Instr) -> Values | None:
    """Translates vloadN, vstoreN, and those that keep halves in memory."""
    assert instr.callee is not None
    vector, match = builtin_of(instr).vector, _WIDTH.fullmatch(instr.callee.name)
    assert vector is not None
    assert match is not None
    count, program = int(match[1] or 1), translation.program
    given = lane_type(ir.type_of(instr.operands[0]) if vector.stores else instr.type)
    memory = ir.Float(16) if vector.half else given
    size = layout.size_of(memory)
    step = size * (4 if vector.aligned and count == 3 else count)
    index, pointer = instr.operands[-2:]
    constant = constant_index(index)
    value, known = (None, constant) if constant is not None else _peel(translation, index)  # in whole vectors
    place = move(translation, place_of(translation, pointer), [] if value is None else [(value, step)], known * step)
    leaves = [(number * size, memory) for number in range(count)]
    align = step if vector.aligned else size
    wide = vector.half and bits_of(given) == 32
    if not vector.stores:
        found = load(translation, place, leaves, align)
        return tuple(program.op("f2f32", one) for one in found) if wide else found
    values = translation.value(instr.operands[0])
    if wide:
        rounding = "f2f16_rtz" if match[2] == "_rtz" else "f2f16_rtne"
        values = tuple(program.op(rounding, one) for one in values)
    store(translation, place, leaves, values, align)
    return None


def _declare(translation: Translation, instr: ir.Instr) -> None:
    """A variable without a value needs no code."""


HANDLERS: dict[str, Handler] = {
    "alloca": _alloca,
    "gep": _gep,
    "load": _load,
    "store": _store,
    "memcpy": _copy,
    "memmove": _copy,
    "memset": _fill,
    "undefine": _declare,
}
"""By the name of the instruction."""
