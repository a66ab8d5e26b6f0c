"""Interprets a VM program without a device and records each tensor's storage, offset, first and last use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import TensorSpec
from ..artifact.host_function import BufferParam
from ..artifact.memory_plan import RUNTIME_COPY, PlannedWorkspace
from ..artifact.model import ENTRY
from ..artifact.vm_function import (
    AllocHeap,
    AllocStorage,
    AllocTensor,
    Branch,
    CallHost,
    CheckTensor,
    ConstRef,
    Copy,
    GetItem,
    Instruction,
    Kill,
    MakeScalar,
    MakeShape,
    MakeTuple,
    MatchScalar,
    MatchShape,
    Operand,
    Reg,
    Reshape,
    Return,
    ShapeEntry,
    ShapeLiteral,
    ShapeOf,
    ToDevice,
)
from ..run import host_functions
from ..run.values import HeapValue
from .inline import inline_calls
from .workspaces import Argument, workspaces

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel


@dataclass
class TensorLife:
    """A tensor and the instructions [first, last] that use it or an alias of it. `origin` writes it first.

    written, read: first instruction that does; None for none.
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


@dataclass
class StorageLife:
    """A storage from instruction `first` on. nbytes: None where the runtime, not the planner, picks the size."""

    scope: str
    nbytes: int | None
    first: int
    planned: bool = True
    why: str = ""


@dataclass
class Lifetimes:
    """Everything the entry function allocates, in order; result: tensors of its result that it did not allocate, too."""

    tensors: list[TensorLife] = field(default_factory=list)
    storages: dict[str, StorageLife] = field(default_factory=dict)
    workspaces: list[PlannedWorkspace] = field(default_factory=list)
    results: list[TensorSpec] = field(default_factory=list)


@dataclass(frozen=True)
class Ref:
    """A tensor value: the tensors it may be an alias of (none for inputs and constants), under a shape."""

    tensors: tuple[int, ...]
    spec: TensorSpec


@dataclass(frozen=True)
class StorageRef:
    key: str


@dataclass(frozen=True)
class Shape:
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Items:
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Either:
    """The result of a branch."""

    a: Value
    b: Value


Value = Union[Ref, StorageRef, Shape, Items, Either, HeapValue, int, float, bool, str, None]


def trace(model: CompiledModel, shapes: Sequence[tuple[int, ...]]) -> Lifetimes:
    """Lifetimes in `main`, the functions it calls inlined, for inputs of `shapes`. Both sides of a branch are followed."""
    main = inline_calls(model).functions[ENTRY]
    tracer = _Tracer(model)
    for name, info, shape in zip(main.params, model.inputs, shapes, strict=True):
        tracer.registers[name] = Ref((), TensorSpec(shape, info.dtype, info.scope))
    tracer.block(main.body)
    return tracer.lives


class _Tracer:
    """Registers and lifetimes while following a program; `index` is the instruction's number in textual order."""

    def __init__(self, model: CompiledModel):
        self.model = model
        self.registers: dict[str, Value] = {}
        self.lives = Lifetimes()
        self.index = -1

    def block(self, body: tuple[Instruction, ...]) -> None:
        for instruction in body:
            self.index += 1
            _FOLLOW[type(instruction)](self, instruction)

    def get(self, operand: Operand) -> Value:
        if isinstance(operand, Reg):
            return self.registers.get(operand.name)
        if isinstance(operand, ConstRef):
            array = self.model.constants[operand.key]
            return Ref((), TensorSpec(array.shape, array.dtype.name, operand.scope))
        return Shape(operand.dims) if isinstance(operand, ShapeLiteral) else operand.value

    def shape(self, operand: Operand) -> tuple[int, ...]:
        value = self.get(operand)
        if isinstance(value, Ref):
            return value.spec.shape
        if not isinstance(value, Shape):
            raise AdrenoSimError(f"instruction {self.index}: the size of a tensor depends on data, so there is no plan")
        return value.dims

    def heap(self, name: str) -> np.ndarray:
        value = self.registers[name]
        assert isinstance(value, HeapValue)
        return value.slots

    def use(self, value: Value) -> None:
        """Every tensor inside `value` lives at least until now."""
        for number in _tensors(value):
            life = self.lives.tensors[number]
            life.last = max(life.last, self.index)

    def read(self, value: Value) -> None:
        """Every tensor inside `value` is used and read now."""
        self.use(value)
        for number in _tensors(value):
            life = self.lives.tensors[number]
            life.read = self.index if life.read is None else life.read

    def write(self, value: Value, origin: str = "") -> None:
        """Every tensor inside `value` is used and written now."""
        self.use(value)
        for number in _tensors(value):
            life = self.lives.tensors[number]
            life.origin = life.origin or origin
            life.written = self.index if life.written is None else life.written

    def new_tensor(self, name: str, spec: TensorSpec, storage: str, offset: int) -> Ref:
        taken = sum(1 for life in self.lives.tensors if life.id.split("#")[0] == name)
        life = TensorLife(f"{name}#{taken}" if taken else name, spec, storage, offset, self.index, self.index)
        self.lives.tensors.append(life)
        return Ref((len(self.lives.tensors) - 1,), spec)

    def new_storage(self, name: str, storage: StorageLife) -> str:
        key, n = name, 0
        while key in self.lives.storages:
            n += 1
            key = f"{name}#{n}"
        self.lives.storages[key] = storage
        return key


def _tensors(value: Value) -> tuple[int, ...]:
    if isinstance(value, Ref):
        return value.tensors
    if isinstance(value, Items):
        return tuple(number for item in value.items for number in _tensors(item))
    return _tensors(value.a) + _tensors(value.b) if isinstance(value, Either) else ()


def _entry(tracer: _Tracer, heap: str, entry: ShapeEntry) -> int:
    return entry.value if entry.match == "const" else int(tracer.heap(heap)[entry.value])


def _alloc_heap(tracer: _Tracer, i: AllocHeap) -> None:
    tracer.registers[i.dst] = HeapValue(np.zeros(i.size, np.int64))


def _match_shape(tracer: _Tracer, i: MatchShape) -> None:
    for entry, size in zip(i.entries, tracer.shape(i.value), strict=True):
        if entry.match == "store":
            tracer.heap(i.heap)[entry.value] = size
        elif entry.match != "any" and size != _entry(tracer, i.heap, entry):
            raise AdrenoSimError(f"{i.context}: expected {_entry(tracer, i.heap, entry)}, found {size}")


def _match_scalar(tracer: _Tracer, i: MatchScalar) -> None:
    value = tracer.get(i.value)
    if i.entry.match == "store" and isinstance(value, int):
        tracer.heap(i.heap)[i.entry.value] = value


def _make_shape(tracer: _Tracer, i: MakeShape) -> None:
    tracer.registers[i.dst] = Shape(tuple(_entry(tracer, i.heap, entry) for entry in i.entries))


def _make_scalar(tracer: _Tracer, i: MakeScalar) -> None:
    tracer.registers[i.dst] = _entry(tracer, i.heap, i.entry)


def _alloc_storage(tracer: _Tracer, i: AllocStorage) -> None:
    (nbytes,) = tracer.shape(i.size)
    tracer.registers[i.dst] = StorageRef(tracer.new_storage(i.dst, StorageLife(i.scope, nbytes, tracer.index)))


def _alloc_tensor(tracer: _Tracer, i: AllocTensor) -> None:
    storage = tracer.registers[i.storage]
    assert isinstance(storage, StorageRef)
    spec = TensorSpec(tracer.shape(i.shape), i.dtype, i.scope)
    tracer.registers[i.dst] = tracer.new_tensor(i.dst, spec, storage.key, i.offset)


def _call_host(tracer: _Tracer, i: CallHost) -> None:
    function = tracer.model.host_functions[i.function]
    args = [tracer.get(operand) for operand in i.args]
    if function.on_host:
        host_functions.call_on_host(function, [arg for arg in args if isinstance(arg, (HeapValue, int, float))])
        return
    pairs = list(zip(function.params, args, strict=True))
    for param, arg in pairs:  # reads first: an argument that is read and written was to hold something before
        tracer.use(arg)
        if isinstance(param, BufferParam) and param.access == "read":
            tracer.read(arg)
    for param, arg in pairs:
        if isinstance(param, BufferParam) and param.access in ("write", "read_write"):
            tracer.write(arg, i.function)
    tracer.lives.workspaces += workspaces(function, [_argument(arg) for arg in args], tracer.index)


def _argument(value: Value) -> Argument:
    """What sizes inside a host function may depend on."""
    return value.spec if isinstance(value, Ref) else value.slots if isinstance(value, HeapValue) else value  # type: ignore[return-value]


def _reshape(tracer: _Tracer, i: Reshape) -> None:
    source = tracer.get(i.src)
    tracer.use(source)
    if isinstance(source, Ref):
        spec = TensorSpec(tracer.shape(i.shape), source.spec.dtype, source.spec.scope)
        tracer.registers[i.dst] = Ref(source.tensors, spec)


def _to_device(tracer: _Tracer, i: ToDevice) -> None:
    source = tracer.get(i.src)
    tracer.read(source)
    _leave_alone(tracer, source, "copied to another scope")
    if isinstance(source, Ref) and source.spec.scope != i.scope:
        spec = TensorSpec(source.spec.shape, source.spec.dtype, i.scope)
        storage = tracer.new_storage(i.dst, StorageLife(i.scope, None, tracer.index, planned=False, why=RUNTIME_COPY))
        tracer.registers[i.dst] = tracer.new_tensor(i.dst, spec, storage, 0)
        tracer.write(tracer.registers[i.dst])
    else:
        tracer.registers[i.dst] = source


def _shape_of(tracer: _Tracer, i: ShapeOf) -> None:
    tracer.registers[i.dst] = Shape(tracer.shape(i.src))


def _make_tuple(tracer: _Tracer, i: MakeTuple) -> None:
    tracer.registers[i.dst] = Items(tuple(tracer.get(item) for item in i.items))


def _get_item(tracer: _Tracer, i: GetItem) -> None:
    source = tracer.get(i.src)
    items = source.items if isinstance(source, Items) else source.dims if isinstance(source, Shape) else None
    tracer.registers[i.dst] = source if items is None else items[i.index]


def _copy(tracer: _Tracer, i: Copy) -> None:
    value = tracer.get(i.src)
    if i.boundary:
        tracer.use(value)
        _leave_alone(tracer, value, i.boundary)
    tracer.registers[i.dst] = value


def _branch(tracer: _Tracer, i: Branch) -> None:
    tracer.read(tracer.get(i.condition))
    tracer.block(i.then)
    then = tracer.get(i.then_result)
    tracer.block(i.otherwise)
    otherwise = tracer.get(i.otherwise_result)
    same = isinstance(then, Ref) and isinstance(otherwise, Ref)
    tracer.registers[i.dst] = Ref(_tensors(then) + _tensors(otherwise), then.spec) if same else Either(then, otherwise)  # type: ignore[union-attr]
    _leave_alone(tracer, tracer.registers[i.dst], "result of a branch")


def _return(tracer: _Tracer, i: Return) -> None:
    result = tracer.get(i.value)
    tracer.read(result)
    _leave_alone(tracer, result, "result of the function")
    tracer.lives.results += _specs(result)


def _specs(value: Value) -> list[TensorSpec]:
    if isinstance(value, Ref):
        return [value.spec]
    if isinstance(value, Items):
        return [spec for item in value.items for spec in _specs(item)]
    return _specs(value.a) if isinstance(value, Either) else []


def _leave_alone(tracer: _Tracer, value: Value, why: str) -> None:
    """Results of functions and branches, and what goes to anything but a PrimFunc, each have a storage of their own."""
    for number in _tensors(value):
        storage = tracer.lives.storages[tracer.lives.tensors[number].storage]
        storage.planned, storage.why = False, storage.why or why


def _nothing(tracer: _Tracer, i: CheckTensor | Kill) -> None:
    """No effect on lifetimes: a tensor's life ends with its last use."""


_FOLLOW: dict[type, Callable[..., None]] = {
    AllocHeap: _alloc_heap, CheckTensor: _nothing, MatchShape: _match_shape, MatchScalar: _match_scalar, MakeShape: _make_shape,
    MakeScalar: _make_scalar, AllocStorage: _alloc_storage, AllocTensor: _alloc_tensor, CallHost: _call_host,
    Reshape: _reshape, ToDevice: _to_device, ShapeOf: _shape_of, MakeTuple: _make_tuple, GetItem: _get_item, Copy: _copy,
    Kill: _nothing, Branch: _branch, Return: _return,
}  # fmt: skip
