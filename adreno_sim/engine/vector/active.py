"""Which lanes are at work where code is being emitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..llvm import vector_text as vt
from ..llvm.text import Text


class ActiveLanes:
    """The lanes that run what is emitted now.

    mask: those at work; None for all. nonempty: a mask that is known to hold some lane here. turn: where lanes take turns, the
    number of the one whose turn it is. at_once: one instruction is emitted for all lanes, whose operands are vectors. Each is
    changed by a `with` alone, for the code that is emitted in it.
    """

    def __init__(self, count: int):
        self.count = count
        self.mask: str | None = None
        self.nonempty: str | None = None
        self.turn = ""
        self.at_once = False
        self._first: str | None = None

    def begin(self, mask: str | None) -> None:
        """Starts a region, where the lanes in `mask` are work-items of the group: lane 0 is, in every tile."""
        self.mask = self.nonempty = self._first = mask

    @contextmanager
    def under(self, mask: str | None) -> Iterator[None]:
        """Code that the lanes in `mask` run."""
        outer, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = outer

    @contextmanager
    def knowing_some(self, mask: str) -> Iterator[None]:
        """Code that is not reached unless `mask` holds some lane."""
        outer, self.nonempty = self.nonempty, mask
        try:
            yield
        finally:
            self.nonempty = outer

    @contextmanager
    def in_turn(self, lane: str) -> Iterator[None]:
        """Code of one lane, as of a single work-item."""
        self.turn = lane
        try:
            yield
        finally:
            self.turn = ""

    @contextmanager
    def all_at_once(self) -> Iterator[None]:
        """One instruction whose operands and results are vectors over the lanes."""
        self.at_once = True
        try:
            yield
        finally:
            self.at_once = False

    @property
    def has_some(self) -> bool:
        """Whether it is known that some lane is at work."""
        return self.mask in (None, self.nonempty)

    @property
    def has_first(self) -> bool:
        """Whether lane 0 is known to be at work."""
        return self.mask in (None, self._first)

    def emit_if_any(self, t: Text, condition: str) -> str:
        """Returns an i1: a condition on lane 0's operands holds, and some lane is active."""
        if self.has_some or self.at_once or self.turn:
            return condition
        assert self.mask is not None
        return t.op(f"and i1 {condition}, {vt.any_of(t, self.mask, self.count)}")
