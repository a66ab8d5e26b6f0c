"""Interprets a VM program without a device and records each tensor's storage, offset, first and last use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.specs import TensorSpec
from ..artifact import vm_function as vm
from ..artifact.host_function import BufferParam, HostFunction
from ..artifact.memory_plan import RUNTIME_COPY
from ..artifact.model import ENTRY
from ..run import host_functions
from ..run.builtins import BUILTINS, REFUSED, WRITTEN
from ..run.kv_cache import CREATE
from ..run.shape_instructions import compute_shape
from ..run.values import HeapValue, ShapeValue
from .inline import inline_with_calls
from .live_values import (
    Either,
    Items,
    Lifetimes,
    Ref,
    State,
    StorageLife,
    StorageRef,
    TensorLife,
    Value,
    specs_in,
    tensors_in,
)
from .workspaces import Argument, workspaces

if TYPE_CHECKING:
    from ..artifact.model import CompiledModel


def trace(model: CompiledModel, shapes: Sequence[tuple[int, ...]]) -> Lifetimes:
    """Lifetimes in `main`, the functions it calls inlined, for inputs of `shapes`. Both sides of a branch are followed."""
    inlined, calls = inline_with_calls(model)
    main = inlined.functions[ENTRY]
    tracer = _Tracer(model, calls)
    for name, info, shape in zip(main.params, model.inputs, shapes, strict=True):
        tracer.registers[name] = Ref((), TensorSpec(shape, info.dtype, info.scope))
    tracer.block(main.body)
    for name in list(tracer.registers):
        tracer.end(name)
    return tracer.lives


class _Tracer:
    """Registers and lifetimes while following a program; `index` is the instruction's number in textual order.

    dominating: the storages that are allocated on every way to it.

    calls: the instructions of each inlined call, by the first part of its registers' names.
    """

    def __init__(self, model: CompiledModel, calls: dict[str, tuple[int, int]]):
        self.model = model
        self.calls = calls
        self.registers: dict[str, Value] = {}
        self.lives = Lifetimes()
        self.dominating: set[str] = set()
        self.index = self.done = -1
        self.here = self.blocks = 0
        self.storages: dict[str, StorageRef] = {}  # by register, also after that has ended

    def block(self, body: vm.Block) -> None:
        outer = self.here
        self.blocks += 1
        self.here = self.blocks
        for instruction in body:
            self.index += 1
            if not isinstance(instruction, vm.Kill):  # what ends together ends with the instruction before
                self.done = self.index
            _follow(instruction, self)
        self.here = outer

    def way(self, body: vm.Block) -> None:
        """Follow a block that does not run on every way."""
        before = set(self.dominating)
        self.block(body)
        self.dominating = before

    def set(self, name: str, value: Value) -> None:
        self.registers[name] = value

    def end(self, name: str) -> None:
        """A register holds nothing any more."""
        value = self.registers.pop(name, None)
        held = {self.lives.tensors[number].storage for number in tensors_in(value)}
        if isinstance(value, StorageRef):
            held.add(value.key)
        for key in held:
            self.lives.storages[key].last = max(self.lives.storages[key].last, self.done)

    def get(self, operand: vm.Operand) -> Value:
        if isinstance(operand, vm.Reg):
            return self.registers.get(operand.name)
        if isinstance(operand, vm.ConstRef):
            array = self.model.constants[operand.key]
            return Ref((), TensorSpec(array.shape, array.dtype.name, operand.scope))
        if isinstance(operand, vm.FunctionRef):
            return State()
        return ShapeValue(operand.dims) if isinstance(operand, vm.ShapeLiteral) else operand.value

    def shape(self, operand: vm.Operand) -> tuple[int, ...]:
        value = self.get(operand)
        if isinstance(value, Ref):
            return value.spec.shape
        if not isinstance(value, ShapeValue):
            raise AdrenoSimError(f"instruction {self.index}: the size of a tensor depends on data, so there is no plan")
        return value.dims

    def scalar(self, operand: vm.Operand) -> int:
        value = self.get(operand)
        if isinstance(value, bool) or not isinstance(value, int):
            raise AdrenoSimError(f"instruction {self.index}: expected an integer, found {value!r}")
        return value

    def heap(self, name: str) -> np.ndarray:
        value = self.registers[name]
        assert isinstance(value, HeapValue)
        return value.slots

    def use(self, value: Value) -> None:
        """Every tensor inside `value` lives at least until now."""
        for number in tensors_in(value):
            life = self.lives.tensors[number]
            life.last = max(life.last, self.index)
            self.lives.accesses.append((self.index, number, False))

    def hold_until_now(self, count: int, begin: int) -> None:
        """The first `count` tensors live until now if they were used since instruction `begin`: whichever side of a branch runs,
        registers around it hold what either side uses."""
        for life in self.lives.tensors[:count]:
            if life.last > begin:
                life.last = self.index

    def read(self, value: Value, reader: str) -> None:
        """Every tensor inside `value` is used and read now, by `reader`."""
        self.use(value)
        for number in tensors_in(value):
            life = self.lives.tensors[number]
            life.reader = reader
            life.reads += [self.index] if self.index not in life.reads[-1:] else []
            life.read = self.index if life.read is None else life.read

    def write(self, value: Value, producer: str, origin: str = "") -> None:
        """Every tensor inside `value` is used and written now, by `producer`, in host function `origin`."""
        self.use(value)
        if isinstance(value, Ref) and not value.tensors:
            self.lives.effects.add(self.index)
        for number in tensors_in(value):
            life = self.lives.tensors[number]
            self.lives.accesses.append((self.index, number, True))
            life.origin = life.origin or origin
            life.producer = life.producer or producer
            life.written = self.index if life.written is None else life.written

    def new_tensor(self, name: str, spec: TensorSpec, storage: str, offset: int) -> Ref:
        taken = sum(1 for life in self.lives.tensors if life.id.split("#")[0] == name)
        call = self.calls.get(name.partition(".")[0], ())
        key = f"{name}#{taken}" if taken else name
        life = TensorLife(key, spec, storage, offset, self.index, self.index, block=self.here, call=call)
        life.allocated = storage in self.dominating
        self.lives.tensors.append(life)
        return Ref((len(self.lives.tensors) - 1,), spec)

    def new_storage(self, name: str, storage: StorageLife) -> str:
        key, n = name, 0
        while key in self.lives.storages:
            n += 1
            key = f"{name}#{n}"
        self.lives.storages[key] = storage
        self.dominating.add(key)
        return key


@singledispatch
def _follow(i: vm.Instruction, tracer: _Tracer) -> None:
    """Note what instruction `i` does to lifetimes; at those that have no function here, what a run does too."""
    compute_shape(i, tracer)


@_follow.register
def _alloc_storage(i: vm.AllocStorage, tracer: _Tracer) -> None:
    (nbytes,) = tracer.shape(i.size)
    tracer.storages[i.dst] = StorageRef(tracer.new_storage(i.dst, StorageLife(i.scope, nbytes, tracer.index)))
    tracer.set(i.dst, tracer.storages[i.dst])


@_follow.register
def _alloc_tensor(i: vm.AllocTensor, tracer: _Tracer) -> None:
    storage = tracer.storages[i.storage]  # TVM lets a tensor after a branch share a storage that was made inside it
    spec = TensorSpec(tracer.shape(i.shape), i.dtype, i.scope)
    tracer.set(i.dst, tracer.new_tensor(i.dst, spec, storage.key, i.offset))


@_follow.register
def _call_host(i: vm.CallHost, tracer: _Tracer) -> None:
    function = tracer.model.host_functions[i.function]
    args = [tracer.get(operand) for operand in i.args]
    if function.on_host:
        host_functions.call_on_host(function, [arg for arg in args if isinstance(arg, (HeapValue, int, float))])
        return
    pairs = list(zip(function.params, args, strict=True))
    does = _describe_call(i, function, args, tracer)
    for param, arg in pairs:  # reads first: an argument that is read and written was to hold something before
        tracer.use(arg)
        _leave_alone(tracer, arg, "used in another block", within=tracer.here)
        if isinstance(param, BufferParam) and param.access == "read":
            tracer.read(arg, does)
    for param, arg in pairs:
        if isinstance(param, BufferParam) and param.access in ("write", "read_write"):
            tracer.write(arg, does, i.function)
    tracer.lives.workspaces += workspaces(function, [_argument(arg) for arg in args], tracer.index)


def _describe_call(i: vm.CallHost, function: HostFunction, args: Sequence[Value], tracer: _Tracer) -> str:
    """The operators that a call does; of one that TVM put in, its function and what it goes on from."""
    if i.operators:
        return ", ".join(i.operators)
    pairs = zip(function.params, args, strict=True)
    source = next((arg for param, arg in pairs if isinstance(param, BufferParam) and param.access == "read"), None)
    name = "layout change" if i.function.startswith("te_layout_transform") else i.function
    return f"{name}{_after(source, tracer)}"


def _after(value: Value, tracer: _Tracer) -> str:
    """After what `value` was made, where that is known."""
    made = [tracer.lives.tensors[number].producer for number in tensors_in(value)[:1]]
    return f" after {made[0].rpartition(' after ')[2]}" if made and made[0] else ""


def _argument(value: Value) -> Argument:
    """What sizes inside a host function may depend on."""
    return value.spec if isinstance(value, Ref) else value.slots if isinstance(value, HeapValue) else value  # type: ignore[return-value]


@_follow.register
def _call_builtin(i: vm.CallBuiltin, tracer: _Tracer) -> None:
    """What keeps state reads and writes tensors of the program, which TVM's planner leaves alone; its own are in no plan."""
    if i.function not in BUILTINS or i.function in REFUSED:
        raise UnsupportedError(f"unsupported: a memory plan of a function that calls {i.function}, which allocates as it likes")
    args = [tracer.get(arg) for arg in i.args]
    written = WRITTEN.get(i.function, ())
    name = i.function.removeprefix("vm.builtin.")
    for position, arg in enumerate(args):
        _leave_alone(tracer, arg, f"used by {name}")
        if position not in written:
            tracer.read(arg, name)
    for position in written:
        tracer.write(args[position], name, name)
    if i.function == CREATE:
        tracer.lives.creations.append(args)
    tracer.lives.effects.add(tracer.index)
    tracer.set(i.dst, State())


@_follow.register
def _run_step(i: vm.RunStep, tracer: _Tracer) -> None:
    """A step of a graph. The function's arguments are there from the first to the last, for whoever reads the whole call."""
    function = tracer.model.host_functions[i.function]
    for operand in i.args:
        tracer.use(tracer.get(operand))
    does = (
        ", ".join(i.operators) or ("copy into" if i.step == 0 else "copy out of" if i.args else "a step of") + f" {function.name}"
    )
    for operand in i.reads:
        tracer.read(tracer.get(operand), does)
    for operand in i.writes:
        tracer.write(tracer.get(operand), does, i.function)


@_follow.register
def _reshape(i: vm.Reshape, tracer: _Tracer) -> None:
    source = tracer.get(i.src)
    tracer.use(source)
    if isinstance(source, Ref):
        spec = TensorSpec(tracer.shape(i.shape), source.spec.dtype, source.spec.scope)
        tracer.set(i.dst, Ref(source.tensors, spec))


@_follow.register
def _to_device(i: vm.ToDevice, tracer: _Tracer) -> None:
    source = tracer.get(i.src)
    does = f"copy to {i.scope}{_after(source, tracer)}"
    tracer.read(source, does)
    _leave_alone(tracer, source, "copied to another scope")
    if isinstance(source, Ref) and source.spec.scope != i.scope:
        spec = TensorSpec(source.spec.shape, source.spec.dtype, i.scope)
        storage = tracer.new_storage(i.dst, StorageLife(i.scope, None, tracer.index))
        tracer.set(i.dst, tracer.new_tensor(i.dst, spec, storage, 0))
        tracer.write(tracer.registers[i.dst], does)
        _leave_alone(tracer, tracer.registers[i.dst], RUNTIME_COPY)
    else:
        tracer.set(i.dst, source)


@_follow.register
def _copy_tensor(i: vm.CopyTensor, tracer: _Tracer) -> None:
    source, target = tracer.get(i.src), tracer.get(i.target)
    does = f"copy{_after(source, tracer)}"
    tracer.read(source, does)
    _leave_alone(tracer, source, "copied to another scope")
    tracer.write(target, does)
    _leave_alone(tracer, target, RUNTIME_COPY)


@_follow.register
def _make_tuple(i: vm.MakeTuple, tracer: _Tracer) -> None:
    tracer.set(i.dst, Items(tuple(tracer.get(item) for item in i.items)))


@_follow.register
def _get_item(i: vm.GetItem, tracer: _Tracer) -> None:
    source = tracer.get(i.src)
    items = source.items if isinstance(source, Items) else source.dims if isinstance(source, ShapeValue) else None
    tracer.set(i.dst, source if items is None else items[i.index])


@_follow.register
def _copy(i: vm.Copy, tracer: _Tracer) -> None:
    value = tracer.get(i.src)
    if i.boundary:
        tracer.use(value)
        _leave_alone(tracer, value, i.boundary)
    tracer.set(i.dst, value)


@_follow.register
def _branch(i: vm.Branch, tracer: _Tracer) -> None:
    tracer.read(tracer.get(i.condition), "a branch")
    _leave_alone(tracer, tracer.get(i.condition), "condition of a branch")
    outside, known, begin = set(tracer.registers), len(tracer.lives.tensors), tracer.index
    results = []
    for block, result in ((i.then, i.then_result), (i.otherwise, i.otherwise_result)):
        tracer.way(block)
        results.append(tracer.get(result))
        for name in tracer.registers.keys() - outside:
            tracer.end(name)
    then, otherwise = results
    tracer.hold_until_now(known, begin)
    same = isinstance(then, Ref) and isinstance(otherwise, Ref)
    tracer.registers[i.dst] = Ref(tensors_in(then) + tensors_in(otherwise), then.spec) if same else Either(then, otherwise)  # type: ignore[union-attr]
    _leave_alone(tracer, tracer.registers[i.dst], "result of a branch")


@_follow.register
def _return(i: vm.Return, tracer: _Tracer) -> None:
    result = tracer.get(i.value)
    tracer.read(result, "the result")
    _leave_alone(tracer, result, "result of the function")
    tracer.lives.results += specs_in(result)


def _leave_alone(tracer: _Tracer, value: Value, why: str, within: int | None = None) -> None:
    """TVM's planner gives each a separate storage: results of functions and branches, what goes to anything but a PrimFunc, and
    what is used outside the block of instructions that makes it (not where it is made in block `within`)."""
    for number in tensors_in(value):
        life = tracer.lives.tensors[number]
        if life.block != within:
            life.left_alone = life.left_alone or why


@_follow.register
def _kill(i: vm.Kill, tracer: _Tracer) -> None:
    """A tensor's life ends with its last use, its storage with the last register that holds it."""
    tracer.end(i.name)


@_follow.register
def _begin_recording(i: vm.BeginRecording, tracer: _Tracer) -> None:
    tracer.lives.recordings.append((tracer.index + 1, tracer.index + 1))


@_follow.register
def _end_recording(i: vm.EndRecording, tracer: _Tracer) -> None:
    tracer.lives.recordings[-1] = (tracer.lives.recordings[-1][0], tracer.index - 1)


@_follow.register
def _ignore(i: vm.CheckTensor, tracer: _Tracer) -> None:
    """No effect on lifetimes."""
