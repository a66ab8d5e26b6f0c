"""One call of a VM function: registers and what each instruction does to them."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import AdrenoSimError, DeviceError
from ...base.specs import TensorSpec
from ..artifact import vm_function as vm
from ..artifact.memory_plan import ON_CHIP
from .builtins import call_builtin
from .shape_instructions import compute_shape
from .values import (
    FunctionValue,
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
    from .graph_steps import GraphCallBySteps
    from .vm import VirtualMachine


class MachineFrame:
    """Registers of one call. Each register is one holder of its value; leaving the frame releases those left."""

    def __init__(self, machine: VirtualMachine, function: vm.VMFunction, args: list[Value]):
        self.machine = machine
        self.function = function
        self.registers: dict[str, Value] = {}
        for name, value in zip(function.params, args, strict=True):
            self.registers[name] = retain(value)
        self.index = 0
        self.result: Value = None
        self.running: GraphCallBySteps | None = None
        self.recording = False

    def __enter__(self) -> MachineFrame:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_recording()
        for value in self.registers.values():
            release(value)
        self.registers.clear()

    def end_recording(self) -> None:
        """End the recording that this call began, if there is one."""
        if self.recording:
            self.recording = False
            self.machine.device.on_chip.end_recording()

    def run(self) -> Value:
        """The function's result, held for the caller."""
        self.block(self.function.body)
        return self.result

    def block(self, body: vm.Block) -> None:
        for instruction in body:
            execute(instruction, self)
            self.index += 1

    def set(self, name: str, value: Value) -> None:
        """Bind a register to a value whose holder it becomes."""
        release(self.registers.get(name))
        self.registers[name] = value

    def get(self, operand: vm.Operand) -> Value:
        """The value of an operand, without a new holder."""
        if isinstance(operand, vm.Reg):
            return self.register(operand.name)
        if isinstance(operand, vm.ConstRef):
            return self.machine.constant(operand.key, operand.scope)
        if isinstance(operand, vm.ShapeLiteral):
            return ShapeValue(operand.dims)
        if isinstance(operand, vm.FunctionRef):
            return FunctionValue(operand.name)
        return operand.value

    def register(self, name: str) -> Value:
        if name not in self.registers:
            raise AdrenoSimError(f"{self.where()}: register {name!r} holds nothing (used after its end?)")
        return self.registers[name]

    def tensor(self, operand: vm.Operand) -> Tensor:
        value = self.get(operand)
        if not isinstance(value, Tensor):
            raise AdrenoSimError(f"{self.where()}: expected a tensor, found {value!r}")
        return value

    def shape(self, operand: vm.Operand) -> Shape:
        """A shape operand, or the shape of a tensor operand."""
        value = self.get(operand)
        if isinstance(value, Tensor):
            return value.shape
        if not isinstance(value, ShapeValue):
            raise AdrenoSimError(f"{self.where()}: expected a shape, found {value!r}")
        return value.dims

    def scalar(self, operand: vm.Operand) -> int:
        value = self.get(operand)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise AdrenoSimError(f"{self.where()}: expected an integer, found {value!r}")
        return int(value)

    def heap(self, name: str) -> np.ndarray:
        value = self.register(name)
        if not isinstance(value, HeapValue):
            raise AdrenoSimError(f"{self.where()}: expected the shape heap in {name!r}, found {value!r}")
        return value.slots

    def where(self) -> str:
        return f"{self.function.name}, instruction {self.index}"


@singledispatch
def execute(i: vm.Instruction, frame: MachineFrame) -> None:
    """Do instruction `i`; at those that have no function here, what a memory plan does too."""
    compute_shape(i, frame)


@execute.register
def _check_tensor(i: vm.CheckTensor, frame: MachineFrame) -> None:
    value = frame.get(i.value)
    if not isinstance(value, Tensor) or i.ndim not in (-1, len(value.shape)) or i.dtype not in ("", value.dtype):
        found = f"{value.dtype} of shape {value.shape}" if isinstance(value, Tensor) else repr(value)
        wanted = f"{i.dtype or 'any dtype'}, " + ("any rank" if i.ndim == -1 else f"rank {i.ndim}")
        raise AdrenoSimError(f"{i.context}: expected a tensor of {wanted}, found {found}")


@execute.register
def _alloc_storage(i: vm.AllocStorage, frame: MachineFrame) -> None:
    (nbytes,) = frame.shape(i.size)
    device = frame.machine.device
    on_chip = device.on_chip.storage() if i.scope == ON_CHIP else None
    if on_chip is not None and on_chip.nbytes < nbytes:
        device.free(on_chip)
        raise AdrenoSimError(f"{frame.where()}: {nbytes:,} bytes of on-chip memory: {device.info.name} has {on_chip.nbytes:,}")
    frame.set(i.dst, StorageHandle(device, nbytes, frame.machine.poison, on_chip))


@execute.register
def _alloc_tensor(i: vm.AllocTensor, frame: MachineFrame) -> None:
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


@execute.register
def _call_host(i: vm.CallHost, frame: MachineFrame) -> None:
    args: list[Tensor | HeapValue | int | float] = []
    for operand in i.args:
        value = frame.get(operand)
        if not isinstance(value, (Tensor, HeapValue, int, float)):
            raise AdrenoSimError(f"{frame.where()}: {i.function} is given {value!r}: expected tensors and numbers")
        args.append(value)
    frame.machine.call_host(frame.machine.model.host_functions[i.function], args, frame.index)


@execute.register
def _run_step(i: vm.RunStep, frame: MachineFrame) -> None:
    reads, writes = ([frame.tensor(operand).view for operand in operands] for operands in (i.reads, i.writes))
    function = frame.machine.model.host_functions[i.function]
    if i.step == 0:
        frame.running = frame.machine.begin_graph(function, [frame.tensor(arg) for arg in i.args], frame.index)
    if frame.running is None or frame.running.function is not function:
        raise AdrenoSimError(f"{frame.where()}: step {i.step} of {i.function}, whose first step did not run")
    frame.running.do(i.step, reads, writes)
    if i.step and i.args:
        frame.running.end()
        frame.running = None


@execute.register
def _begin_recording(i: vm.BeginRecording, frame: MachineFrame) -> None:
    frame.machine.device.on_chip.begin_recording()
    frame.recording = True


@execute.register
def _end_recording(i: vm.EndRecording, frame: MachineFrame) -> None:
    frame.end_recording()


@execute.register
def _call_vm(i: vm.CallVM, frame: MachineFrame) -> None:
    call = frame.machine.call_once if i.once else frame.machine.call
    frame.set(i.dst, call(i.function, [frame.get(operand) for operand in i.args]))


@execute.register
def _call_builtin(i: vm.CallBuiltin, frame: MachineFrame) -> None:
    frame.set(i.dst, call_builtin(i.function, [frame.get(operand) for operand in i.args], frame.machine))


@execute.register
def _reshape(i: vm.Reshape, frame: MachineFrame) -> None:
    source, shape = frame.tensor(i.src), frame.shape(i.shape)
    if np.prod(shape, dtype=np.int64) != np.prod(source.shape, dtype=np.int64):
        raise AdrenoSimError(f"{frame.where()}: cannot reshape {source.shape} to {shape}")
    frame.set(i.dst, source.reshape(shape, i.dst))


@execute.register
def _to_device(i: vm.ToDevice, frame: MachineFrame) -> None:
    source = frame.tensor(i.src)
    if source.scope == i.scope:
        frame.set(i.dst, retain(source))
        return
    target = allocate_tensor(frame.machine.device, source.shape, source.dtype, i.scope, i.dst)
    frame.set(i.dst, target)
    frame.machine.device.copy(source.view, target.view)


@execute.register
def _copy_tensor(i: vm.CopyTensor, frame: MachineFrame) -> None:
    frame.machine.device.copy(frame.tensor(i.src).view, frame.tensor(i.target).view)


@execute.register
def _make_tuple(i: vm.MakeTuple, frame: MachineFrame) -> None:
    frame.set(i.dst, TupleValue(tuple(retain(frame.get(item)) for item in i.items)))


@execute.register
def _get_item(i: vm.GetItem, frame: MachineFrame) -> None:
    value = frame.get(i.src)
    items = value.items if isinstance(value, TupleValue) else value.dims if isinstance(value, ShapeValue) else ()
    if not 0 <= i.index < len(items):
        raise AdrenoSimError(f"{frame.where()}: expected a tuple with item {i.index}, found {value!r}")
    frame.set(i.dst, retain(items[i.index]))


@execute.register
def _copy(i: vm.Copy, frame: MachineFrame) -> None:
    frame.set(i.dst, retain(frame.get(i.src)))


@execute.register
def _kill(i: vm.Kill, frame: MachineFrame) -> None:
    release(frame.register(i.name))
    del frame.registers[i.name]


@execute.register
def _branch(i: vm.Branch, frame: MachineFrame) -> None:
    taken = bool(frame.tensor(i.condition).read().reshape(-1)[0])
    outside = set(frame.registers)
    frame.block(i.then if taken else i.otherwise)
    result = retain(frame.get(i.then_result if taken else i.otherwise_result))
    for name in frame.registers.keys() - outside:  # what the block bound ends with it
        release(frame.registers.pop(name))
    frame.set(i.dst, result)


@execute.register
def _return(i: vm.Return, frame: MachineFrame) -> None:
    frame.result = retain(frame.get(i.value))
