"""Structs and unions: their C text, where their fields lie, and values for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..generator import Generator
from ..parameters import input_values
from ..tree import Expr
from ..value_types import Type

_SAME_SIZE = (Type("uint", 2), Type("uchar", 8), Type("short", 4), Type("long"), Type("int", 2), Type("ulong"))
"""Members of a union are seen as one another, so that each has all eight bytes."""


@dataclass(frozen=True)
class Member:
    """`count` 0: no array."""

    name: str
    type: Type | Record
    count: int = 0


@dataclass(frozen=True)
class Record:
    """A struct, or a union whose first member is the one that is initialised. `attribute`: "packed", "aligned(N)" or none."""

    name: str
    members: tuple[Member, ...]
    union: bool = False
    attribute: str = ""

    @property
    def spelled(self) -> str:
        return f"{'union' if self.union else 'struct'} {self.name}"

    @property
    def declaration(self) -> str:
        attribute = f"__attribute__(({self.attribute})) " if self.attribute else ""
        fields = " ".join(f"{_spelled(m.type)} {m.name}{f'[{m.count}]' if m.count else ''};" for m in self.members)
        return f"{'union' if self.union else 'struct'} {attribute}{self.name} {{ {fields} }};\n"

    @property
    def alignment(self) -> int:
        if self.attribute == "packed":
            return 1
        wanted = int(self.attribute[8:-1]) if self.attribute else 1
        return max(wanted, *(_alignment(member.type) for member in self.members))

    @property
    def nbytes(self) -> int:
        ends = [at + _nbytes(member.type) * (member.count or 1) for member, at in self._placed()]
        return -(-max(ends) // self.alignment) * self.alignment

    def _placed(self) -> Iterator[tuple[Member, int]]:
        at = 0
        for member in self.members:
            step = 1 if self.attribute == "packed" else _alignment(member.type)
            at = -(-at // step) * step
            yield member, at
            at += 0 if self.union else _nbytes(member.type) * (member.count or 1)

    def leaves(self, base: int = 0, path: str = "") -> Iterator[tuple[str, Type, int, int]]:
        """Path, type, count (0: no array) and offset of all that is initialised: of a union the first member."""
        for member, at in self._placed():
            name = f"{path}.{member.name}"
            if not isinstance(member.type, Record):
                yield name, member.type, member.count, base + at
            elif member.count:
                for index in range(member.count):
                    yield from member.type.leaves(base + at + index * member.type.nbytes, f"{name}[{index}]")
            else:
                yield from member.type.leaves(base + at, name)
            if self.union:
                return

    def names(self, path: str = "") -> Iterator[tuple[str, Type]]:
        """Texts that reach each member, with indices as templates have them, and their types."""
        for member in self.members:
            name = f"{path}.{member.name}" + (f"[@i & {member.count - 1}]" if member.count else "")
            if isinstance(member.type, Record):
                yield from member.type.names(name)
            else:
                yield name, member.type

    @property
    def layout(self) -> np.dtype:
        """The leaves as fields of one record; between them lies padding."""
        found = list(self.leaves())
        formats = [(type.dtype, (count or 1, type.width)) for _, type, count, _ in found]  # never three wide: those have padding
        layout = {"names": [name for name, *_ in found], "formats": formats, "offsets": [at for *_, at in found]}
        return np.dtype({**layout, "itemsize": self.nbytes})

    def contents(self, count: int, random: np.random.Generator) -> np.ndarray:
        """So many records, as bytes: fields as inputs have them, anything in the padding."""
        data = random.integers(0, 256, count * self.nbytes, np.uint8)
        for leaf, type, _, _ in self.leaves():
            field = data.view(self.layout)[leaf]
            field[...] = input_values(type.kind, random, False, field.size).reshape(field.shape)
        return data


def _spelled(type: Type | Record) -> str:
    return type.spelled if isinstance(type, Record) else str(type)


def _nbytes(type: Type | Record) -> int:
    return type.nbytes if isinstance(type, Record) else type.stored * type.bits // 8


def _alignment(type: Type | Record) -> int:
    return type.alignment if isinstance(type, Record) else _nbytes(type)


def make_record(g: Generator, depth: int = 1) -> Record:
    """A new struct of two to four members, declared at program scope: one may be an array, a struct or a union."""
    members = []
    for index in range(g.choices.number(2, 4)):
        form = g.choices.weighted([(6, "plain"), (2, "array"), (1.5 * depth, "struct"), (1.2 * depth, "union")])
        g.choices.note(f"record/{form}")
        if form == "struct":
            members.append(Member(f"f{index}", make_record(g, 0), g.choices.pick((0, 0, 2))))
        elif form == "union":
            members.append(Member(f"f{index}", _make_union(g)))
        else:
            type = _member_type(g, 4 if form == "array" else 16)
            members.append(Member(f"f{index}", type, g.choices.pick((2, 4)) if form == "array" else 0))
    attribute = g.choices.weighted([(6, ""), (1.5, "packed"), (1, "aligned(16)"), (0.5, "aligned(32)")])
    attribute = "" if f"record/{attribute}" in g.features.avoid else attribute
    g.choices.note(f"record/{attribute or 'as it comes'}")
    return _declare(g, Record(f"{g.prefix}{g.name('s')}", tuple(members), attribute=attribute))


def _make_union(g: Generator) -> Record:
    members = tuple(Member(f"u{index}", type) for index, type in enumerate(g.choices.sample(_SAME_SIZE, 3)))
    return _declare(g, Record(f"{g.prefix}{g.name('u')}", members, union=True))


def _declare(g: Generator, record: Record) -> Record:
    g.declarations.append(record.declaration)
    return record


def _member_type(g: Generator, widest: int) -> Type:
    while True:
        type = g.type()
        if type.width <= widest and type.width != 3 and (not type.is_float or g.features.licence != "relaxed"):
            return type


def initialiser(g: Generator, record: Record) -> list[str | Expr]:
    """Braces around an expression for each leaf."""
    parts: list[str | Expr] = ["{"]
    for member in record.members[: 1 if record.union else None]:
        parts += "{" if member.count else ""
        for _ in range(member.count or 1):
            parts += [*_value(g, member.type), ", "]
        parts += "}, " if member.count else ""
    return [*parts, "}"]


def _value(g: Generator, type: Type | Record) -> list[str | Expr]:
    if isinstance(type, Record):
        return initialiser(g, type)
    return [g.expression(type, 1)]
