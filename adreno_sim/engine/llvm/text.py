"""A builder of LLVM IR text: lines, fresh names, labels. It does not interpret what is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count

_OWN_NAME = re.compile(r"%t\d+\b")
"""A name that `Text.take_name` gives."""

UNLIKELY = ", !prof !0"
"""Metadata of branches to code that runs only when something is wrong; `!0` is defined once in every module."""


class Phi:
    """A phi that is in a text before all its edges are known."""

    def __init__(self, name: str, type: str):
        self.name = name
        self.type = type
        self._edges: list[str] = []

    def add(self, *edges: tuple[str | int, str]) -> None:
        """Adds edges: an operand, and the label it comes from."""
        self._edges += [f"[ {operand}, %{label} ]" for operand, label in edges]

    def __str__(self) -> str:
        return f"  {self.name} = phi {self.type} {', '.join(self._edges)}"


class Text:
    """The body of one LLVM function under construction.

    `label` is the current block; `cold` holds blocks that go to the end. Names come from `names`, which a prologue shares
    with its body so that the two can be joined.
    """

    def __init__(self, names: Iterator[int] | None = None, label: str = "entry", prefix: str = "t"):
        self._prefix = prefix
        self.names = names if names is not None else count()
        self._parts: list[str | Sequence[Phi]] = []
        self._cold: list[str | Sequence[Phi]] = []
        self.label = label

    @property
    def lines(self) -> list[str]:
        return self.lines_from(0)

    @property
    def size(self) -> int:
        """About how many lines there are."""
        return len(self._parts)

    @property
    def cold(self) -> list[str]:
        return _write(self._cold)

    def mark(self) -> int:
        """Returns the place of what comes next, for `lines_from`."""
        return len(self._parts)

    def lines_from(self, mark: int) -> list[str]:
        return _write(self._parts[mark:])

    def op(self, right: str) -> str:
        """Emits `%new = right` and returns the new name."""
        name = self.take_name()
        self._parts.append(f"  {name} = {right}")
        return name

    def do(self, line: str) -> None:
        self._parts.append("  " + line)

    def take_name(self) -> str:
        """Returns a name of a value that is used nowhere else."""
        return f"%{self._prefix}{next(self.names)}"

    def open_phi(self, type: str) -> Phi:
        """Emits a phi whose edges are added later."""
        phi = Phi(self.take_name(), type)
        self._parts.append((phi,))
        return phi

    def make_room_for_phis(self) -> list[Phi]:
        """Returns a list whose phis will stand here, also those that come into it later."""
        room: list[Phi] = []
        self._parts.append(room)
        return room

    def fresh(self, hint: str) -> str:
        """Returns a label that is used nowhere else."""
        return f"{hint}.{next(self.names)}"

    def block(self, label: str) -> None:
        self._parts.append(f"{label}:")
        self.label = label

    def jump(self, label: str, metadata: str = "") -> None:
        self._parts.append(f"  br label %{label}{metadata}")

    def branch(self, condition: str, then: str, other: str, unlikely: bool = False) -> None:
        """Emits a branch on an i1; `unlikely` says that `then` is the rare side."""
        self._parts.append(f"  br i1 {condition}, label %{then}, label %{other}{UNLIKELY if unlikely else ''}")

    def aside(self) -> Text:
        """Returns a builder for a cold block with the same names and its own lines; pass it to `put_aside` when it is
        complete."""
        return Text(self.names)

    def put_aside(self, other: Text) -> None:
        self._cold += other._parts + other._cold


def _write(parts: list[str | Sequence[Phi]]) -> list[str]:
    return list(chain.from_iterable((part,) if isinstance(part, str) else map(str, part) for part in parts))


def check_order(*sections: Text) -> None:
    """Raises ValueError unless texts that run one after the other, without branches, use only values that are defined before.

    Code that is written late may put a line into a section that is there already, and hand it what only comes later.
    """
    known: set[str] = set()
    for line in chain.from_iterable(section.lines for section in sections):
        name, _, right = line.strip().partition(" = ")
        if unknown := [used for used in _OWN_NAME.findall(right or name) if used not in known]:
            raise ValueError(f"{unknown[0]} is used before it is defined: {line.strip()}")
        known.add(name)


def any_of(t: Text, flags: str, count: int) -> str:
    """Emits an i1: whether any of `count` flags is set."""
    if count & (count - 1):
        return t.op(f"icmp ne i32 {_emit_count(t, flags, count)}, 0")
    return t.op(f"icmp ne i{count} {t.op(f'bitcast <{count} x i1> {flags} to i{count}')}, 0")


def all_of(t: Text, flags: str, count: int) -> str:
    """Emits an i1: whether all of `count` flags are set."""
    if count & (count - 1):
        return t.op(f"icmp eq i32 {_emit_count(t, flags, count)}, {count}")
    return t.op(f"icmp eq i{count} {t.op(f'bitcast <{count} x i1> {flags} to i{count}')}, -1")


def _emit_count(t: Text, flags: str, count: int) -> str:
    """Emits the number of flags that are set. Done in 32 bits: with three 64-bit lanes LLVM 22 makes, for some
    processors, an instruction that cannot name its registers, so that it reads others."""
    wide = t.op(f"zext <{count} x i1> {flags} to <{count} x i32>")
    total, *others = (t.op(f"extractelement <{count} x i32> {wide}, i32 {n}") for n in range(count))
    for one in others:
        total = t.op(f"add i32 {total}, {one}")
    return total


def emit_mul_i64(t: Text, value: str, factor: int) -> str:
    """Emits `value * factor` in i64; nothing for factor 1."""
    return value if factor == 1 else t.op(f"mul i64 {value}, {factor}")


def emit_add_i64(t: Text, left: str | int, right: str | int) -> str | int:
    """Emits `left + right` in i64; plain ints are folded."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    return left if right == 0 else t.op(f"add i64 {left}, {right}")
