"""One call of a VM function: registers and what each instruction does to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import AdrenoSimError, DeviceError
from ...base.specs import TensorSpec
from ..artifact.vm_function import (
    AllocHeap,
    AllocStorage,
    AllocTensor,
    Branch,
    CallHost,
    CallVM,
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
    VMFunction,
)
from .values import (
    HeapValue,
    Shape,
    ShapeValue,
    StorageHandle,
    Tensor,
    TupleValue,
    Value,
    ViewHandle,
    allocate_tensor,
    release,
    retain,
)

if TYPE_CHECKING:
    from .vm import VirtualMachine


class Frame:
    """Registers of one call. Each register is one holder of its value; leaving the frame releases those left."""

    def __init__(self, machine: VirtualMachine, function: VMFunction, args: list[Value]):
        self.machine = machine
        self.function = function
        self.registers: dict[str, Value] = {}
        for name, value in zip(function.params, args, strict=True):
            self.registers[name] = retain(value)
        self.index = 0
        self.result: Value = None

    def __enter__(self) -> Frame:
        return self

    def __exit__(self, *_: object) -> None:
        for value in self.registers.values():
            release(value)
        self.registers.clear()

    def run(self) -> Value:
        """The function's result, held for the caller."""
        self.block(self.function.body)
        return self.result

    def block(self, body: tuple[Instruction, ...]) -> None:
        for instruction in body:
            _INSTRUCTIONS[type(instruction)](self, instruction)
            self.index += 1

    def set(self, name: str, value: Value) -> None:
        """Bind a register to a value whose holder it becomes."""
        release(self.registers.get(name))
        self.registers[name] = value

    def get(self, operand: Operand) -> Value:
        """The value of an operand, without a new holder."""
        if isinstance(operand, Reg):
            return self.register(operand.name)
        if isinstance(operand, ConstRef):
            return self.machine.constant(operand.key, operand.scope)
        if isinstance(operand, ShapeLiteral):
            return ShapeValue(operand.dims)
        return operand.value

    def register(self, name: str) -> Value:
        if name not in self.registers:
            raise AdrenoSimError(f"{self.where()}: register {name!r} holds nothing (used after its end?)")
        return self.registers[name]

    def tensor(self, operand: Operand) -> Tensor:
        value = self.get(operand)
        if not isinstance(value, Tensor):
            raise AdrenoSimError(f"{self.where()}: expected a tensor, found {value!r}")
        return value

    def shape(self, operand: Operand) -> Shape:
        """A shape operand, or the shape of a tensor operand."""
        value = self.get(operand)
        if isinstance(value, Tensor):
            return value.shape
        if not isinstance(value, ShapeValue):
            raise AdrenoSimError(f"{self.where()}: expected a shape, found {value!r}")
        return value.dims

    def heap(self, name: str) -> np.ndarray:
        value = self.register(name)
        if not isinstance(value, HeapValue):
            raise AdrenoSimError(f"{self.where()}: expected the shape heap in {name!r}, found {value!r}")
        return value.slots

    def where(self) -> str:
        return f"{self.function.name}, instruction {self.index}"


def _alloc_heap(frame: Frame, i: AllocHeap) -> None:
    frame.set(i.dst, HeapValue(np.zeros(i.size, np.int64)))


def _check_tensor(frame: Frame, i: CheckTensor) -> None:
    value = frame.get(i.value)
    if not isinstance(value, Tensor) or i.ndim not in (-1, len(value.shape)) or i.dtype not in ("", value.dtype):
        found = f"{value.dtype} of shape {value.shape}" if isinstance(value, Tensor) else repr(value)
        wanted = f"{i.dtype or 'any dtype'}, " + ("any rank" if i.ndim == -1 else f"rank {i.ndim}")
        raise AdrenoSimError(f"{i.context}: expected a tensor of {wanted}, found {found}")


def _match(frame: Frame, heap: str, entry: ShapeEntry, size: int, context: str) -> None:
    if entry.match == "store":
        frame.heap(heap)[entry.value] = size
    elif entry.match != "any":
        expected = entry.value if entry.match == "const" else int(frame.heap(heap)[entry.value])
        if size != expected:
            raise AdrenoSimError(f"{context}: expected {expected}, found {size}")


def _match_shape(frame: Frame, i: MatchShape) -> None:
    shape = frame.shape(i.value)
    if len(shape) != len(i.entries):
        raise AdrenoSimError(f"{i.context}: expected rank {len(i.entries)}, found shape {shape}")
    for axis, (entry, size) in enumerate(zip(i.entries, shape, strict=True)):
        _match(frame, i.heap, entry, size, f"{i.context}, dimension {axis} of {shape}")


def _match_scalar(frame: Frame, i: MatchScalar) -> None:
    _match(frame, i.heap, i.entry, _scalar(frame, i.value), i.context)


def _scalar(frame: Frame, operand: Operand) -> int:
    value = frame.get(operand)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise AdrenoSimError(f"{frame.where()}: expected an integer, found {value!r}")
    return int(value)


def _entry(frame: Frame, heap: str, entry: ShapeEntry) -> int:
    return entry.value if entry.match == "const" else int(frame.heap(heap)[entry.value])


def _make_shape(frame: Frame, i: MakeShape) -> None:
    frame.set(i.dst, ShapeValue(tuple(_entry(frame, i.heap, entry) for entry in i.entries)))


def _make_scalar(frame: Frame, i: MakeScalar) -> None:
    frame.set(i.dst, _entry(frame, i.heap, i.entry))


def _alloc_storage(frame: Frame, i: AllocStorage) -> None:
    (nbytes,) = frame.shape(i.size)
    frame.set(i.dst, StorageHandle(frame.machine.device, nbytes, frame.machine.poison))


def _alloc_tensor(frame: Frame, i: AllocTensor) -> None:
    owner = frame.register(i.storage)
    if not isinstance(owner, StorageHandle):
        raise AdrenoSimError(f"{frame.where()}: expected a storage in {i.storage!r}, found {owner!r}")
    spec = TensorSpec(frame.shape(i.shape), i.dtype, i.scope)
    try:
        handle = ViewHandle(owner, spec, i.offset, i.dst)
    except DeviceError as error:
        what = f"tensor {i.dst!r}, {spec.dtype} {spec.shape} in {spec.scope} ({frame.where()})"
        raise type(error)(error.code, f"{what}: {str(error).removeprefix(f'{error.code}: ')}") from error
    if shared := handle.meets():
        frame.machine.observer.storage_reused(i.dst, [view.name for view in shared], frame.where())
    frame.set(i.dst, Tensor(spec.shape, spec.dtype, spec.scope, handle, i.dst))


def _call_host(frame: Frame, i: CallHost) -> None:
    args: list[Tensor | HeapValue | int | float] = []
    for operand in i.args:
        value = frame.get(operand)
        if not isinstance(value, (Tensor, HeapValue, int, float)):
            raise AdrenoSimError(f"{frame.where()}: {i.function} is given {value!r}: expected tensors and numbers")
        args.append(value)
    frame.machine.call_host(frame.machine.model.host_functions[i.function], args, frame.index)


def _call_vm(frame: Frame, i: CallVM) -> None:
    frame.set(i.dst, frame.machine.call(i.function, [frame.get(operand) for operand in i.args]))


def _reshape(frame: Frame, i: Reshape) -> None:
    source, shape = frame.tensor(i.src), frame.shape(i.shape)
    if np.prod(shape, dtype=np.int64) != np.prod(source.shape, dtype=np.int64):
        raise AdrenoSimError(f"{frame.where()}: cannot reshape {source.shape} to {shape}")
    frame.set(i.dst, source.reshape(shape, i.dst))


def _to_device(frame: Frame, i: ToDevice) -> None:
    source = frame.tensor(i.src)
    if source.scope == i.scope:
        frame.set(i.dst, retain(source))
        return
    target = allocate_tensor(frame.machine.device, source.shape, source.dtype, i.scope, i.dst)
    frame.set(i.dst, target)
    frame.machine.device.copy(source.view, target.view)


def _shape_of(frame: Frame, i: ShapeOf) -> None:
    frame.set(i.dst, ShapeValue(frame.tensor(i.src).shape))


def _make_tuple(frame: Frame, i: MakeTuple) -> None:
    frame.set(i.dst, TupleValue(tuple(retain(frame.get(item)) for item in i.items)))


def _get_item(frame: Frame, i: GetItem) -> None:
    value = frame.get(i.src)
    items = value.items if isinstance(value, TupleValue) else value.dims if isinstance(value, ShapeValue) else ()
    if not 0 <= i.index < len(items):
        raise AdrenoSimError(f"{frame.where()}: expected a tuple with item {i.index}, found {value!r}")
    frame.set(i.dst, retain(items[i.index]))


def _copy(frame: Frame, i: Copy) -> None:
    frame.set(i.dst, retain(frame.get(i.src)))


def _kill(frame: Frame, i: Kill) -> None:
    release(frame.register(i.name))
    del frame.registers[i.name]


def _branch(frame: Frame, i: Branch) -> None:
    taken = bool(frame.tensor(i.condition).read().reshape(-1)[0])
    frame.block(i.then if taken else i.otherwise)
    frame.set(i.dst, retain(frame.get(i.then_result if taken else i.otherwise_result)))


def _return(frame: Frame, i: Return) -> None:
    frame.result = retain(frame.get(i.value))


_INSTRUCTIONS: dict[type, Callable[..., None]] = {
    AllocHeap: _alloc_heap, CheckTensor: _check_tensor, MatchShape: _match_shape, MatchScalar: _match_scalar,
    MakeShape: _make_shape, MakeScalar: _make_scalar, AllocStorage: _alloc_storage, AllocTensor: _alloc_tensor,
    CallHost: _call_host, CallVM: _call_vm, Reshape: _reshape, ToDevice: _to_device, ShapeOf: _shape_of,
    MakeTuple: _make_tuple, GetItem: _get_item, Copy: _copy, Kill: _kill, Branch: _branch, Return: _return,
}  # fmt: skip
