"""The calls of a session as data: what a bundle replays without TVM."""

from __future__ import annotations

from typing import Union

from ...records import dataclass
from .serial import Node

RUNTIME = "vm.builtin."
"""With this begin the names of functions of TVM's runtime."""


@dataclass(frozen=True)
class ArrayValue(Node):
    """An array that the bundle stores. key: of CompiledModel.recorded."""

    key: str


@dataclass(frozen=True)
class ShapeArgument(Node):
    dims: tuple[int, ...]


@dataclass(frozen=True)
class NumberArgument(Node):
    value: bool | int | float


@dataclass(frozen=True)
class ResultOf(Node):
    """What an earlier call gave. step: its number; path: of the items of tuples that lead to it."""

    step: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class TupleArgument(Node):
    items: tuple[ScriptValue, ...]


ScriptValue = Union[ArrayValue, ShapeArgument, NumberArgument, ResultOf, TupleArgument]


@dataclass(frozen=True)
class Step:
    """One call. function: an entry, or a function of TVM's runtime. outputs: how many tensors it gave.

    references: names of those that say what they should be; arrays "STEP/REFERENCE/OUTPUT", with "/allowed": the largest errors.
    """

    function: str
    args: tuple[ScriptValue, ...]
    outputs: int = 0
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """The calls of a session in order. unchecked: what no reference says anything about. tolerance: of results, None = that of
    their type."""

    steps: tuple[Step, ...]
    unchecked: tuple[str, ...] = ()
    tolerance: float | None = None
