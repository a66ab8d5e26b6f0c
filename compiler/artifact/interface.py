"""What the functions of a model take and give: tensors and tuples; of entries of a session also shapes, numbers and state."""

from __future__ import annotations

from typing import Union

from ...records import dataclass
from .serial import Node


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. A dimension is an int or the name of a symbol shared by all inputs and outputs.

    bounds: smallest and largest value of an integer input that fits what consumes it; None = nothing is known.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    scope: str = "global"
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class TupleInfo:
    """A tuple result, possibly nested."""

    items: tuple[TensorInfo | TupleInfo, ...]


ResultInfo = Union[TensorInfo, TupleInfo]


@dataclass(frozen=True)
class ShapeInfo(Node):
    """A parameter that is a shape: so many integers."""

    name: str
    rank: int


@dataclass(frozen=True)
class ScalarInfo(Node):
    """A parameter that is a number."""

    name: str
    dtype: str


@dataclass(frozen=True)
class StateInfo(Node):
    """A parameter that is an object of TVM's runtime, as a KV cache."""

    name: str


@dataclass(frozen=True)
class PackedInfo(Node):
    """A parameter that is a tuple of parameters, as all weights in one."""

    name: str
    items: tuple[EntryParam, ...]


EntryParam = Union[TensorInfo, ShapeInfo, ScalarInfo, StateInfo, PackedInfo]
