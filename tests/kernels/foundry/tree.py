"""Kernels as trees: expressions of small whole numbers, places in objects, statements. A tree is printed, and evaluated.

A `Hole` and a `Slot` are where a defect can be planted: `fill_holes` gives the tree with something else in their place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Union

from .layout import Array, Image


class Expr:
    """An expression of type int."""

    def __add__(self, other: Expr | int) -> Expr:
        return Binary("+", self, as_expr(other))

    def __sub__(self, other: Expr | int) -> Expr:
        return Binary("-", self, as_expr(other))

    def __mul__(self, other: Expr | int) -> Expr:
        return Binary("*", self, as_expr(other))

    def __mod__(self, other: Expr | int) -> Expr:
        return Binary("%", self, as_expr(other))

    def __and__(self, other: Expr | int) -> Expr:
        return Binary("&", self, as_expr(other))

    def __floordiv__(self, other: Expr | int) -> Expr:
        return Binary("/", self, as_expr(other))

    def is_(self, op: str, other: Expr | int) -> Expr:
        """A comparison, or a logical operation."""
        return Binary(op, self, as_expr(other))


def as_expr(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else Num(value)


@dataclass(frozen=True, eq=False)
class Num(Expr):
    value: int


@dataclass(frozen=True, eq=False)
class Name(Expr):
    """A variable, a scalar argument, or an id."""

    name: str


ITEM, IN_GROUP, GROUP = Name("i"), Name("l"), Name("g")
"""Linear ids of the work-item, of it in its group, and of the group."""


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Choose(Expr):
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, eq=False)
class Place:
    """An element of an array.

    indices: one for each dimension. field: of a struct, with `inner` as its index where the field is an array.
    many: so many scalars at index * many, as vloadn and vstoren access them. shift: of the pointer, in elements.
    """

    array: Array
    indices: tuple[Expr, ...]
    field: str = ""
    inner: Expr | None = None
    many: int = 0
    shift: Expr | None = None


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """The sum of the lanes of what lies at a place."""

    place: Place


@dataclass(frozen=True, eq=False)
class ReadTexel(Expr):
    """The sum of a texel's channels. sampler: the name of one of the program's, "" for a read without."""

    image: Image
    coordinates: tuple[Expr, ...]
    sampler: str = ""


@dataclass(frozen=True, eq=False)
class Hole(Expr):
    """`inner`, in whose place a defect may be planted. What it was is recorded under its number."""

    number: int
    inner: Expr


class Stmt:
    """A statement, which has a line of its own."""


@dataclass(frozen=True, eq=False)
class Declare(Stmt):
    name: str
    value: Expr


@dataclass(frozen=True, eq=False)
class Assign(Stmt):
    name: str
    op: str
    value: Expr


@dataclass(frozen=True, eq=False)
class DeclareArray(Stmt):
    """values: of an initialiser, all elements; () = none."""

    array: Array
    values: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Store(Stmt):
    """Stores value, value + 1, ... in the lanes of a place, modulo 64; whole: one lane, as it is."""

    place: Place
    value: Expr
    whole: bool = False


@dataclass(frozen=True, eq=False)
class WriteTexel(Stmt):
    image: Image
    coordinates: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class For(Stmt):
    """step: what is added, or "/2". way: "for" or "while". hint: a pragma before it."""

    name: str
    low: Expr
    op: str
    high: Expr
    step: int | str
    body: tuple[Stmt, ...]
    way: str = "for"
    hint: str = ""


@dataclass(frozen=True, eq=False)
class If(Stmt):
    condition: Expr
    body: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True, eq=False)
class Barrier(Stmt):
    """fences: of "local", "global", "image"."""

    number: int
    fences: tuple[str, ...]
    function: str = "barrier"


@dataclass(frozen=True, eq=False)
class Return(Stmt):
    """The work-item ends."""


@dataclass(frozen=True, eq=False)
class Slot(Stmt):
    """Statements that a defect may add or change."""

    number: int
    body: tuple[Stmt, ...] = ()


Node = Union[Expr, Stmt, Place]


def rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` made to each node that it does not leave alone, from the root; None removes a statement."""
    if isinstance(node, tuple):
        return tuple(new for child in node if (new := rebuild(child, change)) is not None)
    if not isinstance(node, (Expr, Stmt, Place)):
        return node
    changed = change(node)
    if changed is not node:
        return changed
    fields = {f.name: getattr(node, f.name) for f in dataclasses.fields(node)}  # type: ignore[arg-type]
    new = {name: rebuild(value, change) for name, value in fields.items()}
    same = all(new[name] is fields[name] or new[name] == fields[name] for name in fields)
    return node if same else type(node)(**new)


def walk(node: Any) -> Iterator[Any]:
    """A tree's nodes, parents first."""
    if isinstance(node, tuple):
        for child in node:
            yield from walk(child)
    elif isinstance(node, (Expr, Stmt, Place)):
        yield node
        for field in dataclasses.fields(node):  # type: ignore[arg-type]
            yield from walk(getattr(node, field.name))


def fill_holes(body: tuple[Stmt, ...], new: Mapping[int, Any]) -> tuple[Stmt, ...]:
    """The tree with `new` expressions in holes, statements (a tuple) in slots, statements or None in place of barriers."""

    def change(node: Any) -> Any:
        number = getattr(node, "number", None)
        if number is None or number not in new:
            return node
        return Slot(number, new[number]) if isinstance(node, Slot) else new[number]

    filled: tuple[Stmt, ...] = rebuild(body, change)
    return filled
