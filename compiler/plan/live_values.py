"""What a traced program allocates and when it uses it, and the values of its registers while it is followed."""

from __future__ import annotations

from dataclasses import field
from typing import Union

from ...base.specs import TensorSpec
from ...records import dataclass
from ..artifact.memory_plan import PlannedWorkspace
from ..run.values import HeapValue, ShapeValue


@dataclass
class TensorLife:
    """A tensor and the instructions [first, last] that use it or an alias of it. `origin` writes it first.

    written, read: first instruction that does; None for none. allocated: its storage is, on every way to it. block: the body of
    instructions that makes it. left_alone: why TVM's planner does not place it. call: the instructions of the function call that
    makes it, () in the entry function. producer, reader: what writes it first and reads it last. reads: instructions that do.
    """

    id: str
    spec: TensorSpec
    storage: str
    offset: int
    first: int
    last: int
    origin: str = ""
    written: int | None = None
    read: int | None = None
    allocated: bool = True
    block: int = 0
    left_alone: str = ""
    call: tuple[int, ...] = ()
    producer: str = ""
    reader: str = ""
    reads: list[int] = field(default_factory=list)


@dataclass
class StorageLife:
    """A storage from instruction `first` to `last`, after which no register holds it or a tensor in it.

    nbytes: None if the runtime, not the planner, picks the size.
    """

    scope: str
    nbytes: int | None
    first: int
    last: int = 0


@dataclass
class Lifetimes:
    """Everything the entry function allocates, in order.

    results: tensors of its result that it did not allocate, too.
    creations: arguments of each call that makes a KV cache.
    accesses: (instruction, number of the tensor, whether it writes) for every use, in order. effects: instructions that write
    what the function did not allocate. recordings: launches [first, last] of each recording.
    """

    tensors: list[TensorLife] = field(default_factory=list)
    storages: dict[str, StorageLife] = field(default_factory=dict)
    workspaces: list[PlannedWorkspace] = field(default_factory=list)
    results: list[TensorSpec] = field(default_factory=list)
    creations: list[list[Value]] = field(default_factory=list)
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)
    effects: set[int] = field(default_factory=set)
    recordings: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Ref:
    """A tensor value: the tensors it may be an alias of (none for inputs and constants), under a shape."""

    tensors: tuple[int, ...]
    spec: TensorSpec


@dataclass(frozen=True)
class StorageRef:
    key: str


@dataclass(frozen=True)
class Items:
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Either:
    """The result of a branch."""

    a: Value
    b: Value


@dataclass(frozen=True)
class State:
    """What a function of TVM's runtime gives or takes besides tensors, as a KV cache: its memory is not a tensor of the
    program."""


Value = Union[Ref, StorageRef, State, ShapeValue, Items, Either, HeapValue, int, float, bool, str, None]


def tensors_in(value: Value) -> tuple[int, ...]:
    """Numbers of the tensors that `value` may be or hold."""
    if isinstance(value, Ref):
        return value.tensors
    if isinstance(value, Items):
        return tuple(number for item in value.items for number in tensors_in(item))
    return tensors_in(value.a) + tensors_in(value.b) if isinstance(value, Either) else ()


def specs_in(value: Value) -> list[TensorSpec]:
    """The tensors that `value` is or holds; of a branch those of its first side."""
    if isinstance(value, Ref):
        return [value.spec]
    if isinstance(value, Items):
        return [spec for item in value.items for spec in specs_in(item)]
    return specs_in(value.a) if isinstance(value, Either) else []
