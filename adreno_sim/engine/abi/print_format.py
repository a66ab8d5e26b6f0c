"""Formats of printf: their conversions, and what OpenCL C leaves undefined in them (OpenCL C 3.0, 6.15.14; C11 7.21.6.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...ir import ir, llvm_types
from ...records import dataclass

LONGEST_FIELD = 4095
"""Characters that one conversion may have: what every C library must be able to write."""

HEADER = 3
"""Words of a record before the arguments."""

INTEGERS, FLOATS = "diouxX", "fFeEgGaA"
_ALTERNATE = "oxX" + FLOATS
_NUMBERS = INTEGERS + FLOATS
_LANES = ("v2", "v3", "v4", "v8", "v16")
_SCALAR_BITS = {"": 32, "hh": 32, "h": 32, "l": 64}
"""Bits of the integer that is passed for a scalar conversion; smaller ones are promoted to int."""
_VECTOR_BITS = {"hh": 8, "h": 16, "hl": 32, "l": 64}
_NAMES: dict[type, dict[int, str]] = {
    ir.Int: {1: "bool", 8: "char", 16: "short", 32: "int", 64: "long"},
    ir.Float: {16: "half", 32: "float", 64: "double"},
}
_OPAQUE: dict[type, str] = {ir.Pointer: "a pointer", ir.Image: "an image", ir.Sampler: "a sampler", ir.Event: "an event"}

_SPEC = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?P<vector>v\d*)?(?P<length>hh|hl|h|ll|l|[jztL])?(?P<kind>[*\w%]?)"
)


@dataclass(frozen=True)
class Conversion:
    """A conversion; `text` is what the format has. precision None: not given. lanes: 1 for a scalar. kind "": it is none."""

    text: str
    flags: str
    width: int
    precision: int | None
    lanes: int
    length: str
    kind: str


@dataclass(frozen=True)
class PrintCall:
    """A printf of the source. arguments: their types, a pointer's address space left out; strings: the literals among them.

    Its record consists of 64-bit words: number of the call from 1 on, linear group, local id, then one word for each scalar of
    the arguments.
    """

    format: str
    arguments: tuple[ir.Type, ...]
    strings: tuple[str | None, ...]

    @property
    def words(self) -> int:
        """Words of a record."""
        return HEADER + sum(map(llvm_types.lanes_of, self.arguments))


def parse_format(format: str) -> list[str | Conversion]:
    """Returns the parts of a format: text as it is printed, and conversions."""
    parts: list[str | Conversion] = []
    at = 0
    for match in _SPEC.finditer(format):
        parts.append(format[at : match.start()])
        parts.append("%" if match[0] == "%%" else _read(match))
        at = match.end()
    return [part for part in [*parts, format[at:]] if part]


def _read(match: re.Match[str]) -> Conversion:
    vector, kind = match["vector"] or "", match["kind"]
    known = kind and kind in _NUMBERS + "csp" and vector in ("", *_LANES)
    return Conversion(
        match[0],
        match["flags"],
        _number(match["width"]),
        None if match["precision"] is None else _number(match["precision"][1:]),
        int(vector[1:]) if vector in _LANES else 1,
        match["length"] or "",
        kind if known else "",
    )


def _number(digits: str) -> int:
    """Returns a number that may have any number of digits; beyond any limit one is as good as another."""
    return int(digits or "0") if len(digits) < 10 else 10**9


def describe_defects(conversion: Conversion) -> Iterator[str]:
    """Describes what is undefined in a conversion whatever its argument is, and what is beyond this engine's limit."""
    kind, said = conversion.kind, conversion.text
    if not kind:
        yield f"{said} is not a conversion of OpenCL C"
        return
    if "#" in conversion.flags and kind not in _ALTERNATE:
        yield f"{said}: flag # has no meaning for {kind}"
    if "0" in conversion.flags and kind not in _NUMBERS:
        yield f"{said}: flag 0 has no meaning for {kind}"
    if conversion.precision is not None and kind in "cp":
        yield f"{said}: {kind} has no precision"
    if conversion.lanes > 1 and kind not in _NUMBERS:
        yield f"{said}: {kind} takes no vector"
    elif conversion.lanes > 1 and conversion.length not in _VECTOR_BITS:
        yield f"{said}: expected hh, h, hl or l for the size of the vector's elements"
    elif conversion.lanes == 1 and conversion.length not in _scalar_lengths(kind):
        yield f"{said}: {conversion.length} is not a length of {kind}"
    for what, value in (("width", conversion.width), ("precision", conversion.precision or 0)):
        if value > LONGEST_FIELD:
            yield f"{said:.40}: expected a {what} of at most {LONGEST_FIELD}, which is printed"


def _scalar_lengths(kind: str) -> Sequence[str]:
    """Returns the length modifiers of a scalar; l changes nothing for floats (C11 7.21.6.1)."""
    return tuple(_SCALAR_BITS) if kind in INTEGERS else ("", "l") if kind in FLOATS else ("",)


def describe_misfit(conversion: Conversion, type: ir.Type) -> str:
    """Describes an argument that a conversion does not take: what it takes, and what it got."""
    return f"{conversion.text} takes {_expected(conversion)}, got {_name(type)}"


def fits(conversion: Conversion, type: ir.Type, string: str | None) -> bool:
    """Returns True if an argument can be printed: it is of the kind and has the elements that the conversion takes."""
    if conversion.kind == "s":
        return string is not None
    if conversion.kind == "p":
        return isinstance(type, ir.Pointer)
    if llvm_types.lanes_of(type) != conversion.lanes:
        return False
    return isinstance(llvm_types.elem_of(type), ir.Float if conversion.kind in FLOATS else ir.Int)


def fits_size(conversion: Conversion, type: ir.Type, string: str | None) -> bool:
    """Returns True if an argument has just the type that the conversion takes."""
    if not fits(conversion, type, string):
        return False
    elem = llvm_types.elem_of(type)
    if not isinstance(elem, (ir.Int, ir.Float)):
        return True
    if conversion.lanes > 1:
        return _VECTOR_BITS.get(conversion.length, elem.bits) == elem.bits
    return isinstance(elem, ir.Float) or _SCALAR_BITS.get(conversion.length, elem.bits) == elem.bits


def _expected(conversion: Conversion) -> str:
    if conversion.kind == "s":
        return "a string literal"
    if conversion.kind == "p":
        return "a pointer"
    floats = conversion.kind in FLOATS
    if conversion.lanes == 1:
        return "a float or double" if floats else "a long" if conversion.length == "l" else "an int"
    names = _NAMES[ir.Float if floats else ir.Int]
    elem = names.get(_VECTOR_BITS.get(conversion.length, 0), "")
    return f"{elem}{conversion.lanes}" if elem else f"a vector of {conversion.lanes} elements"


def _name(type: ir.Type) -> str:
    opaque = _OPAQUE.get(type.__class__)
    if opaque:
        return opaque
    elem, lanes = llvm_types.elem_of(type), llvm_types.lanes_of(type)
    name = _NAMES.get(elem.__class__, {}).get(getattr(elem, "bits", 0))
    if name is None:
        return "an argument of another kind"
    return f"{name}{lanes}" if lanes > 1 else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
