"""What can be read and written at a point of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .value_types import Type


@dataclass(frozen=True)
class Name:
    """Something of `type`; `text` is a template (an array element holds an index). `construct` counts its reads."""

    type: Type
    text: str
    writable: bool = True
    construct: str = "variable"


@dataclass
class Scope:
    """Names by nesting.

    uniform: every work-item of the group comes here together, so that a barrier may stand here. loops: how deep in loops.
    leaves: which of "break" and "continue" may stand here (none in a loop that holds barriers). may_return: no barrier that
    encloses this place follows; behind a return there are no more barriers.
    """

    frames: list[list[Name]] = field(default_factory=lambda: [[]])
    uniform: bool = True
    loops: int = 0
    leaves: frozenset[str] = frozenset()
    may_return: bool = True
    returned: bool = False

    @property
    def depth(self) -> int:
        return len(self.frames) - 1

    def add(self, name: Name) -> None:
        self.frames[-1].append(name)

    def readable(self, type: Type) -> list[Name]:
        return [name for frame in self.frames for name in frame if name.type == type]

    def writable(self) -> list[Name]:
        return [name for frame in self.frames for name in frame if name.writable]

    def vectors_of(self, kind: str) -> list[Name]:
        return [n for frame in self.frames for n in frame if n.type.kind == kind and n.type.width > 1]

    @contextmanager
    def nested(self, *, uniform: bool = False, loop: bool = False, leaves: frozenset[str] | None = None) -> Iterator[None]:
        """A block; what it declares is gone behind it. `leaves` None: as outside."""
        before = (self.uniform, self.loops, self.leaves, self.may_return)
        self.frames.append([])
        self.uniform = self.uniform and uniform
        self.may_return = self.may_return and not uniform
        self.loops += loop
        self.leaves = self.leaves if leaves is None else leaves
        yield
        self.frames.pop()
        self.uniform, self.loops, self.leaves, self.may_return = before
        self.uniform = self.uniform and not self.returned
