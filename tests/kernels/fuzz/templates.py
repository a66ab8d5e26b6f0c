"""Expression templates: C text in which @ stands for an operand and $ for a word that depends on the type wanted.

Operands: @T the wanted type, @U and @S the unsigned and signed integers of its shape, @E its element, @I ints of its width,
@H and @L the halves of an integer (high part, low part), @X a source type chosen by `source`, @V a vector of that kind;
@i and @u a scalar int and uint, @c a scalar condition. Words: $T $U $S $E $I $H $L $X the names of these types, $F the
element of X, $K and $W kind and width, $M bits - 1, $P a mask of half the positive range, $Z half the bits, $R a rounding
suffix or none, $l and $g bounds within which X converts to T.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from .choices import Choices
from .tree import Expr
from .value_types import FLOAT, INT, INTEGERS, WIDTHS, Type

_MARK = re.compile(r"([@$])([A-Za-z])")
_HALF_SIZE = {"short": "char", "ushort": "uchar", "int": "short", "uint": "ushort", "long": "int", "ulong": "uint"}


class Makes(Protocol):
    """What a template needs of the generator."""

    choices: Choices

    @property
    def kinds(self) -> tuple[str, ...]: ...
    def expression(self, type: Type, depth: int) -> Expr: ...
    def condition(self, depth: int) -> Expr: ...


@dataclass(frozen=True)
class Template:
    """`when`: traits a type must have, "!" before those it must not have. `source`: a key of SOURCES, for @X."""

    name: str
    when: str
    text: str
    source: str = ""
    weight: float = 1.0

    def fits(self, type: Type) -> bool:
        for word in self.when.split():
            if (word.lstrip("!") in type.traits) == word.startswith("!"):
                return False
        return "@H" not in self.text or type.kind in _HALF_SIZE


def _kinds(makes: Makes, chosen: Callable[[Type], bool], width: int) -> Type | None:
    found = [kind for kind in makes.kinds if chosen(Type(kind))]
    return Type(makes.choices.pick(found), width) if found else None


def _same_size(makes: Makes, type: Type) -> Type | None:
    """Another type of as many bytes; three lanes only from three."""
    if type.width == 3:
        return _kinds(makes, lambda t: t.bits == type.bits and t != type.element, 3)
    total = type.bits * type.width
    found = [Type(kind, total // Type(kind).bits) for kind in makes.kinds if total % Type(kind).bits == 0]
    found = [t for t in found if t.width in WIDTHS and t.width != 3 and t != type]
    return makes.choices.pick(found) if found else None


def _wider(makes: Makes, type: Type) -> Type | None:
    found = [width for width in WIDTHS if width > 1 and width >= type.width and width != 3]
    return type.wide(makes.choices.pick(found))


SOURCES: dict[str, Callable[[Makes, Type], Type | None]] = {
    "": lambda makes, type: type,
    "same bits": lambda makes, type: _kinds(makes, lambda t: t.bits == type.bits, type.width),
    "same bits integer": lambda makes, type: _kinds(makes, lambda t: t.bits == type.bits and not t.is_float, type.width),
    "same bits float": lambda makes, type: _kinds(makes, lambda t: t.bits == type.bits and t.is_float, type.width),
    "scalar": lambda makes, type: _kinds(makes, lambda t: True, 1),
    "scalar float": lambda makes, type: _kinds(makes, lambda t: t.is_float, 1),
    "integer": lambda makes, type: _kinds(makes, lambda t: not t.is_float, type.width),
    "float": lambda makes, type: _kinds(makes, lambda t: t.is_float, type.width),
    "other float": lambda makes, type: _kinds(makes, lambda t: t.is_float and t.kind != type.kind, type.width),
    "vector of signed": lambda makes, type: Type(makes.choices.pick(INTEGERS[:4]), makes.choices.pick(WIDTHS[1:])),
    "same size": _same_size,
    "wider": _wider,
    "double width": lambda makes, type: type.wide(type.width * 2) if type.width in (1, 2, 4, 8) and type.width * 2 > 1 else None,
    "shuffled": lambda makes, type: type.wide(makes.choices.pick((2, 4, 8, 16))) if type.width in (2, 4, 8, 16) else None,
}


def _bounds(type: Type, source: Type) -> tuple[str, str]:
    """Limits of values of `source`'s kind that surely convert to `type`."""
    high = 0.98 * 2.0 ** (type.bits - (type.signed == type))
    if source.kind == "half":
        high = min(high, 60000.0)
    return f"({source.element})({-high if type.signed == type else 0.0:.1f}f)", f"({source.element})({high:.1f}f)"


def words(makes: Makes, letter: str, type: Type, source: Type) -> str:
    """What a $ letter stands for."""
    if letter in "lg":
        return _bounds(type, source)["lg".index(letter)]
    if letter == "R":
        return makes.choices.pick(("", "", "_rte", "_rtz", "_rtp", "_rtn"))
    return str(_fixed_word(letter, type, source))


@cache
def _fixed_word(letter: str, type: Type, source: Type) -> object:
    simple: dict[str, object] = {
        "K": type.kind, "W": type.width, "M": type.bits - 1, "P": (1 << type.bits - 2) - 1, "Z": type.bits // 2,
        "F": source.element,
    }  # fmt: skip
    return simple[letter] if letter in simple else _operand_type(letter, type, source)


def _operand_type(letter: str, type: Type, source: Type) -> Type:
    if letter in "HL":
        half = Type(_HALF_SIZE[type.kind], type.width)
        return half if letter == "H" else half.unsigned
    fixed = {"T": type, "X": source, "E": type.element, "I": type.of("int"), "i": INT, "u": Type("uint"), "f": FLOAT}
    if letter in fixed:
        return fixed[letter]
    return {"U": type.unsigned, "S": type.signed, "V": source}[letter]


def expand(makes: Makes, text: str, type: Type, depth: int, source: Type | None = None) -> tuple[str | Expr, ...]:
    """The parts of a text with marks; operands are one level shallower."""
    source = source or type
    parts: list[str | Expr] = []
    at = 0
    for match in _MARK.finditer(text):
        parts.append(text[at : match.start()])
        sort, letter = match.groups()
        at = match.end()
        if sort == "$":
            parts.append(words(makes, letter, type, source))
        elif letter == "c":
            parts.append(makes.condition(depth - 1))
        else:
            parts.append(makes.expression(_operand_type(letter, type, source), depth - 1))
    return (*parts, text[at:])


def instantiate(makes: Makes, template: Template, type: Type, depth: int) -> Expr | None:
    """An expression of `type`, or None where no source type suits. Small integers are cast back from C's promotion."""
    source = SOURCES[template.source](makes, type)
    if source is None:
        return None
    makes.choices.note(template.name)
    parts = expand(makes, template.text, type, depth, source)
    if type.width == 1 and type.bits < 32 and not type.is_float:
        return Expr(type, (f"({type})(", *parts, ")"))
    return Expr(type, ("(", *parts, ")"))
