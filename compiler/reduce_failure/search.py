"""The first operator with which a model does not compile: of its beginnings, by bisection, the shortest that fails."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ...base.errors import UncompiledError, UnsupportedError
from ...records import dataclass

if TYPE_CHECKING:
    from tvm import IRModule

Attempt = Callable[["IRModule"], object]
"""Compiles a module. Raises UncompiledError if that fails."""


class Beginnings(Protocol):
    """The operators of a model in order, and the modules that its first ones are."""

    @property
    def count(self) -> int: ...

    def module(self, length: int) -> IRModule:
        """Returns the first `length` operators, whose results that none of them reads are the outputs."""
        ...

    def name(self, number: int) -> str:
        """Returns operator and node `number`, counted from 0, for a message."""
        ...


@dataclass(frozen=True)
class Culprit:
    """name: the operator that fails, in words. module: all operators up to it."""

    name: str
    module: IRModule


def find_culprit(beginnings: Beginnings, attempt: Attempt) -> Culprit | None:
    """Returns the operator with which compiling begins to fail; None if all beginnings compile, or none is a module."""
    lengths = range(1, beginnings.count + 1)
    try:
        index = bisect_left(lengths, True, key=lambda length: not compiles(beginnings.module(length), attempt))
        if index == len(lengths):
            return None
        return Culprit(beginnings.name(index), beginnings.module(lengths[index]))
    except UnsupportedError:  # a beginning that cannot be imported by itself
        return None


def compiles(module: IRModule, attempt: Attempt) -> bool:
    """Returns whether `attempt` takes a module."""
    try:
        attempt(module)
    except UncompiledError:
        return False
    return True
