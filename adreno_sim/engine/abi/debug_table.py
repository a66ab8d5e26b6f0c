"""What the debug block and the arena of a kernel under the debugger mean: points of the source, and where variables lie."""

from __future__ import annotations

from dataclasses import field

from ...records import dataclass


@dataclass(frozen=True)
class Point:
    """A place at which a work-item begins a statement, or goes on with one.

    line, column, file, callers, scope: as of `ir.SourceLoc`. is_barrier: the group meets there. again: points of a loop that
    is in one line; who comes here from one of them begins a new iteration.
    """

    line: int
    column: int
    file: str
    callers: tuple[int, ...]
    scope: int
    is_barrier: bool = False
    again: frozenset[int] = frozenset()

    def line_in(self, callers: tuple[int, ...]) -> tuple[int, str]:
        """Returns the line at which the function that was called through `callers` is: its own, or that of a call. (0, "") if
        this point is in no function that it called."""
        inner = len(self.callers) - len(callers)
        if inner < 0 or self.callers[inner:] != callers:
            return 0, ""
        return (self.callers[inner - 1] if inner else self.line), self.file


@dataclass(frozen=True)
class Slot:
    """Where a variable lies of each work-item: `nbytes` in the arena at `offset`, `stride` bytes apart. flag: of its state
    (`debugging.HAS_VALUE`), an arena offset of a byte for each work-item. in_memory: it is a private object of the kernel, and
    has a value from its declaration on; -1 for a flag means that it is always there.
    """

    variable: int
    callers: tuple[int, ...]
    offset: int
    nbytes: int
    stride: int
    flag: int
    in_memory: bool


@dataclass
class DebugTable:
    """points: by number, from 1. places_at: arena offset of the point that each work-item is at (64 bits each). items: of a
    full group. locals: offset in local memory and bytes of each local variable, by name or by the position of an argument."""

    points: list[Point] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    places_at: int = 0
    items: int = 0
    locals: dict[str | int, tuple[int, int]] = field(default_factory=dict)

    def point(self, number: int) -> Point:
        return self.points[number - 1]

    def begins_statement(self, before: int, now: int) -> bool:
        """Returns whether a work-item that comes to point `now` from point `before` (0 = it begins) begins a statement. One that
        comes back from a helper goes on with one."""
        if not before:
            return True
        here, there = self.point(now), self.point(before)
        return there.line_in(here.callers) != (here.line, here.file) or before in here.again
