"""Runs a CompiledModel on a Device, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import TensorSpec, View
from ...device.protocol import Device, Kernel, MLProgram
from ...findings import Finding
from ...mlops.graph import parse
from ...records import dataclass
from ..artifact.host_function import HostFunction, Launch
from ..artifact.model import ENTRY, CompiledModel, KernelCode, TensorInfo
from ..artifact.vm_function import RunStep
from ..artifact.vm_registers import walk
from . import host_functions
from .builds import Builds
from .frame import MachineFrame
from .graph_steps import GraphCallBySteps
from .observer import FunctionCall, GraphCall, LaunchCall, Observer
from .read_only import find_read_only
from .uploads import find_uploads
from .values import HeapValue, Tensor, TupleValue, Value, allocate_tensor, leaves_of, lend_tensor, release, retain

Inputs = Mapping[str, np.ndarray] | Sequence[np.ndarray]


def run(model: CompiledModel, inputs: Inputs, device: Device, observer: Observer | None = None) -> list[np.ndarray]:
    """Run `model` once; its outputs in order (tuples flattened).

    inputs: arrays by name or in order; each must have its input's dtype and shape (symbols agree across inputs).
    Raises AdrenoSimError (DeviceError, BuildError, ...) naming what failed.
    """
    with VirtualMachine(model, device, observer) as machine:
        return machine.run(inputs)


class VirtualMachine:
    """A model loaded on a device. Kernels are built at first use or ahead of it. All constants are uploaded before the first
    call, as TVM's virtual machine does when it is loaded. Both are kept until `close`.

    poison: bytes of tensors that ended are overwritten with NaNs; on where the device watches accesses. builds: of this model on
    this device, where somebody has begun them; `close` ends them.
    """

    def __init__(self, model: CompiledModel, device: Device, observer: Observer | None = None, builds: Builds | None = None):
        self.model = model
        self.device = device
        self.observer = observer or Observer()
        self.poison = device.info.checks_accesses and device.options.checks != "off"
        self.builds = Builds(model, device) if builds is None else builds
        self._graphs: dict[str, MLProgram] = {}
        self._constants: dict[tuple[str, str], Tensor] = {}
        self._loaded = False
        self._once: dict[str, tuple[TupleValue, Value]] = {}
        self._by_steps = {i.function for f in model.functions.values() for i in walk(f.body) if isinstance(i, RunStep)}
        self._read_only = find_read_only(model)
        self._calls = 0
        self._launches = 0

    def __enter__(self) -> VirtualMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the constants and the graphs, and build no more."""
        self.builds.close()
        for program in self._graphs.values():
            program.close()
        self._graphs.clear()
        for tensor in self._constants.values():
            tensor.release()
        self._constants.clear()
        self._loaded = False
        for function in list(self._once):
            self._forget(function)

    def run(self, inputs: Inputs) -> list[np.ndarray]:
        """One run; see `run`."""
        arrays = order_inputs(self.model, inputs)
        arguments: list[Tensor] = []
        result: Value = None
        self._upload_constants()
        try:
            for info, array in zip(self.model.inputs, arrays, strict=True):
                arguments.append(self.upload(info.name, array, _scope_of(info, array)))
            result = self.call(ENTRY, list(arguments))
            self.device.finish()
            return _download(result)
        finally:
            release(result)
            for argument in arguments:
                argument.release()

    def call(self, function: str, args: list[Value]) -> Value:
        """Run VM function `function`; the caller holds the result and must release it."""
        self._upload_constants()
        with MachineFrame(self, self.model.functions[function], args) as frame:
            return frame.run()

    def call_once(self, function: str, args: list[Value]) -> Value:
        """As `call`; of the same tensors as last time, its result again. Both are held until a call of others, or `close`."""
        given = TupleValue(tuple(args))
        known = self._once.get(function)
        if known is None or not _are_same(known[0], given):
            self._forget(function)
            self._once[function] = given, self.call(function, args)
            retain(given)
        return retain(self._once[function][1])

    def _forget(self, function: str) -> None:
        for value in self._once.pop(function, ()):
            release(value)

    def _upload_constants(self) -> None:
        if not self._loaded:
            self._loaded = True
            for key, scope in find_uploads(self.model):
                self.constant(key, scope)

    def constant(self, key: str, scope: str) -> Tensor:
        """The constant `key` on the device, in `scope` (held by the machine)."""
        if (key, scope) not in self._constants:
            array = self.model.constants[key]
            lent = lend_tensor(self.device, array, scope, key) if key in self._read_only else None
            self._constants[key, scope] = self.upload(key, array, scope) if lent is None else lent
        return self._constants[key, scope]

    def call_host(self, function: HostFunction, args: list[Tensor | HeapValue | int | float], instruction: int) -> None:
        """Run a host function, hooks around it (shape functions have none: nothing reaches the device)."""
        if function.on_host:
            host_functions.call_on_host(function, args)
            return
        scope = host_functions.bind(function, args)
        symbols = {name: int(value) for name, value in scope.scalars.items()}
        shown = tuple(arg for arg in args if not isinstance(arg, HeapValue))
        call = FunctionCall(function, shown, symbols, self._calls, instruction, self.device)
        self._calls += 1
        self.observer.before_function(call)
        if not self.observer.replaces_call(call):
            launcher = _Launcher(self, call)
            host_functions.call(function, args, scope, self.device, launcher, launcher.run_graph)
        self.observer.after_function(call)

    def begin_graph(self, function: HostFunction, args: list[Tensor], instruction: int) -> GraphCallBySteps:
        """A call of a function that runs a graph, which the program then does step by step; hooks of its begin have run."""
        host_functions.bind(function, args)
        call = FunctionCall(function, tuple(args), {}, self._calls, instruction, self.device)
        self._calls += 1
        (run,) = function.graphs()
        begun = GraphCallBySteps(call, run.graph, self.graph(run.graph), self.observer)
        begun.begin()
        return begun

    def run_function(self, name: str, args: list[Tensor | HeapValue | int | float]) -> None:
        """Run host function `name` for an object of TVM's runtime, as a separate call."""
        if name not in self.model.host_functions:
            raise AdrenoSimError(f"the model has no function {name!r}")
        self.call_host(self.model.host_functions[name], args, -1)

    def state_finding(self, finding: Finding) -> None:
        """Tell the observer what is wrong with the state of such an object."""
        self.observer.state_finding(finding)

    def kernel(self, name: str) -> Kernel:
        """The built kernel `name`."""
        return self.builds.program(name)[name]

    def graph(self, name: str) -> MLProgram:
        """The graph `name`, made ready on the device."""
        if name not in self._graphs:
            code = self.model.graphs[name]
            constants = {constant: self.model.constants[key] for constant, key in code.constants.items()}
            try:
                by_steps = any(run.graph == name for f in self._by_steps for run in self.model.host_functions[f].graphs())
                self._graphs[name] = self.device.build_graph(parse(code.source), constants, name, by_steps)
            except AdrenoSimError as error:
                error.args = (f"graph {name}: {error}",)
                raise
        return self._graphs[name]

    def next_launch(self) -> int:
        self._launches += 1
        return self._launches - 1

    def upload(self, name: str, array: np.ndarray, scope: str) -> Tensor:
        """A tensor on the device with these contents, held for the caller."""
        tensor = allocate_tensor(self.device, array.shape, array.dtype.name, scope, name)
        tensor.write(array)
        return tensor


@dataclass(frozen=True)
class _Launcher:
    """Sends the launches of one host-function call to the device, hooks around each."""

    machine: VirtualMachine
    call: FunctionCall

    def __call__(
        self,
        launch: Launch,
        args: tuple[View | np.generic, ...],
        names: tuple[str, ...],
        global_size: tuple[int, int, int],
        local_size: tuple[int, int, int],
    ) -> None:
        machine = self.machine
        code = machine.model.kernels[launch.kernel]
        kernel = machine.kernel(launch.kernel)
        typed = typed_arguments(code, args)
        record = LaunchCall(self.call, code, kernel, global_size, local_size, typed, names, machine.next_launch())
        machine.observer.before_launch(record)
        result = machine.device.launch(kernel, global_size, local_size, typed)
        machine.observer.after_launch(record, result)

    def run_graph(self, name: str, inputs: list[View], outputs: list[View]) -> None:
        program = self.machine.graph(name)
        run = program.run(inputs, outputs)
        self.machine.observer.after_graph(GraphCall(self.call, name, program), run)


def _are_same(one: Value, other: Value) -> bool:
    return all(a is b for a, b in zip_longest(leaves_of(one), leaves_of(other)))


def typed_arguments(code: KernelCode, args: tuple[View | np.generic, ...]) -> tuple[View | np.generic, ...]:
    """Scalars as the numpy type that their parameter declares."""
    pairs = zip(code.params, args, strict=True)
    return tuple(np.dtype(p.dtype).type(a) if p.kind == "scalar" and isinstance(a, np.generic) else a for p, a in pairs)


def order_inputs(model: CompiledModel, inputs: Inputs) -> list[np.ndarray]:
    """The arrays in the model's order. Raises AdrenoSimError naming an input that is missing, unknown or does not fit."""
    names = [info.name for info in model.inputs]
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in names]
        missing = [name for name in names if name not in inputs]
        if unknown or missing:
            raise AdrenoSimError(f"inputs {sorted(inputs)}: the model expects {names}")
        arrays = [np.asarray(inputs[name]) for name in names]
    else:
        arrays = [np.asarray(array) for array in inputs]
    if len(arrays) != len(names):
        raise AdrenoSimError(f"{len(arrays)} inputs given: the model expects {len(names)} ({', '.join(names)})")
    symbols: dict[str, int] = {}
    for info, array in zip(model.inputs, arrays, strict=True):
        _check_input(info, array, symbols)
    return arrays


def _check_input(info: TensorInfo, array: np.ndarray, symbols: dict[str, int]) -> None:
    """Shape and dtype of one input; binds symbols met for the first time."""
    fits = array.dtype.name == info.dtype and array.ndim == len(info.shape)
    if fits:
        for dim, size in zip(info.shape, array.shape, strict=True):
            fits &= size == (symbols.setdefault(dim, size) if isinstance(dim, str) else dim)
    if not fits:
        wanted = ", ".join(f"{dim}={symbols[dim]}" if isinstance(dim, str) and dim in symbols else str(dim) for dim in info.shape)
        raise AdrenoSimError(f"input {info.name!r}: expected {info.dtype} ({wanted}), given {array.dtype.name} {array.shape}")


def _scope_of(info: TensorInfo, array: np.ndarray) -> str:
    """The scope of a parameter: a plain buffer where no texture holds what is annotated as one, as callers of TVM's runtime, who
    know nothing of scopes, pass it."""
    return "global" if TensorSpec(array.shape, info.dtype, info.scope).why_no_texture() else info.scope


def _download(value: Value) -> list[np.ndarray]:
    if isinstance(value, TupleValue):
        return [array for item in value.items for array in _download(item)]
    if isinstance(value, Tensor):
        return [value.read()]
    raise AdrenoSimError(f"the model returns {value!r}: expected tensors and tuples of tensors")
