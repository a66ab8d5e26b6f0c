"""A generated kernel as a tree, so that a failing one can be cut down: text with expressions and blocks inside.

Every guard against undefined behaviour is in the text around a part, never in the part itself; so any expression may be
replaced by another of its type, and any statement removed, without making the kernel's behaviour undefined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

from .value_types import Type


@dataclass(frozen=True)
class Expr:
    """An expression of exactly type `type`; `parts` alternate text and operands."""

    type: Type
    parts: tuple[Union[str, Expr], ...]


@dataclass(frozen=True)
class Check:
    """How a result is judged against the values it was computed from, which are outputs just before it.

    function: a key of REFERENCES or COLLECTIVES (truth/). operands: number of outputs before this one
    that are its arguments. "": each implementation may give what it likes.
    """

    function: str
    operands: int


@dataclass(frozen=True)
class Output:
    """Keep `value` as a result of the work-item. Where `check` is None both sides must give the same bits."""

    value: Expr
    check: Check | None = None
    style: str = "vstore"


@dataclass(frozen=True)
class Block:
    statements: tuple[Stmt, ...]


@dataclass(frozen=True)
class Stmt:
    """A statement: text with expressions, blocks, outputs. `whole`: it is removed or kept, never replaced by its inside."""

    parts: tuple[Union[str, Expr, Block, Output, Stmt], ...]
    whole: bool = False


@dataclass(frozen=True)
class Function:
    """A helper function: `head` up to the body, and the expression it returns."""

    head: str
    body: Block
    result: Expr


Node = Union[str, Expr, Block, Stmt, Output, Function]


@dataclass(frozen=True)
class Slot:
    """Where one output lies: `offset` in elements of the output buffer of its kind, `items` results of `type` each."""

    type: Type
    offset: int
    text: str
    check: Check | None


@dataclass
class Layout:
    """Places outputs in one buffer per kind while a tree is rendered; `stride` work-items lie side by side."""

    stride: int
    slots: list[Slot] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def place(self, type: Type, text: str, check: Check | None) -> Slot:
        offset = self.sizes.get(type.kind, 0)
        slot = Slot(type, offset, text, check)
        self.sizes[type.kind] = offset + self.stride * type.width
        self.slots.append(slot)
        return slot


def render(node: Node, layout: Layout | None = None) -> str:
    """The C text of a node. Outputs need a layout."""
    if isinstance(node, str):
        return node
    if isinstance(node, Block):
        return "{\n" + "".join(render(statement, layout) + "\n" for statement in node.statements) + "}"
    if isinstance(node, Function):
        body = "".join(render(statement, layout) + "\n" for statement in node.body.statements)
        return f"{node.head} {{\n{body}return {render(node.result)};\n}}\n"
    if isinstance(node, Output):
        assert layout is not None
        return _store(node, layout)
    return "".join(render(part, layout) for part in node.parts)


def _store(node: Output, layout: Layout) -> str:
    text, type = render(node.value), node.value.type
    slot = layout.place(type, text, node.check)
    base = f"out_{type.kind} + {slot.offset}"
    if type.width == 1:
        return f"out_{type.kind}[{slot.offset} + gid] = {text};"
    if node.style == "pointer" and type.width != 3:  # offsets are multiples of 16 elements, so that it is aligned
        return f"*((global {type} *)({base}) + gid) = {text};"
    if node.style == "index" and type.width != 3:
        return f"((global {type} *)({base}))[gid] = {text};"
    return f"vstore{type.width}({text}, gid, {base});"


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside."""
    if isinstance(node, (Expr, Stmt)):
        return tuple(part for part in node.parts if not isinstance(part, str))
    if isinstance(node, Block):
        return node.statements
    if isinstance(node, Output):
        return (node.value,)
    if isinstance(node, Function):
        return (node.body, node.result)
    return ()


def inside(node: Node) -> Iterator[Node]:
    """Every node below, outermost first."""
    for child in children(node):
        yield child
        yield from inside(child)


def mentions(text: str, name: str) -> bool:
    """Whether the identifier occurs."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
