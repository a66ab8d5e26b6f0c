"""Runs a graph on the simulated device: its operators on tensors in memory as planned, copies in and out at its edges.

Every tensor's bytes really lie where the plan puts them, in its layout: tensors that a wrong plan lets overlap spoil each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from ..base.errors import DeviceError, UnsupportedError
from ..base.specs import BufferSpec, Storage, View, ViewSpec
from ..profiles.ml import MLCapabilities
from ..records import dataclass
from . import environment
from .environment import ClmlSettings
from .graph import Graph, Node
from .onchip import BufferPool, OnChipPlan, layouts, plan, spec_of
from .operators import Operator, make
from .steps import OperatorStep, steps_of
from .tensors import MLTensorSpec, pack, unpack
from .tuner import choose_columns


class Acting(Protocol):
    """The device's on-chip memory, as far as operators meet it."""

    def acting(self) -> AbstractContextManager[None]: ...


class Memory(Protocol):
    """What of a device the engine needs."""

    @property
    def on_chip(self) -> Acting: ...
    def allocate(self, nbytes: int) -> Storage: ...
    def free(self, storage: Storage) -> None: ...
    def view(self, storage: Storage, spec: ViewSpec, offset: int = 0) -> View: ...
    def read(self, view: View) -> np.ndarray: ...
    def write(self, view: View, array: np.ndarray) -> None: ...


@dataclass(frozen=True)
class GraphRun:
    """One run: seconds of simulation, copies between the graph's tensors and the program's buffers, and their bytes.

    bound: tensors in the plain layout, which use the program's buffers without a copy.
    """

    seconds: float
    copies_in: int
    copies_out: int
    copied_bytes: int
    bound: int


class Workspace:
    """What the graphs of one device share: on-chip memory, and a pool of device buffers."""

    def __init__(self, memory: Memory, capabilities: MLCapabilities, device: str):
        self.memory = memory
        self.capabilities = capabilities
        self.device = device
        self.on_chip = np.zeros(capabilities.onchip_bytes, np.uint8)
        self.pool = BufferPool()
        self.buffers: dict[int, Storage] = {}
        self.users: dict[int, int] = {}

    def hold(self, number: int) -> Storage:
        """A buffer of the pool, with one graph more that uses it."""
        if number not in self.buffers:
            self.buffers[number] = self.memory.allocate(self.pool.buffers[number])
        self.users[number] = self.users.get(number, 0) + 1
        return self.buffers[number]

    def release_tensor(self, number: int) -> None:
        """One graph less; the last one frees the buffer."""
        self.users[number] -= 1
        if not self.users[number]:
            self.memory.free(self.buffers.pop(number))
            del self.pool.buffers[number], self.users[number]


class _Tensor:
    """A tensor in its memory. load, store: dense arrays of its logical shape."""

    def __init__(self, spec: MLTensorSpec, read: Callable[[], np.ndarray], write: Callable[[np.ndarray], None]):
        self.spec, self._read, self._write = spec, read, write

    def load(self) -> np.ndarray:
        return unpack(self._read(), self.spec)

    def store(self, dense: np.ndarray) -> None:
        self._write(pack(np.asarray(dense, self.spec.dtype), self.spec))


def check_graph(graph: Graph, capabilities: MLCapabilities, blocks: Mapping[str, int] | None = None) -> list[Operator]:
    """The operators of a graph, tuned by `blocks`.

    UnsupportedError for the first that the runtime refuses or the interface version has not.
    """
    operators = [make(graph, number, (blocks or {}).get(str(number), 0)) for number, _ in graph.of("kernel")]
    for operator in operators:
        if lacks := capabilities.lacks(operator.kind):
            raise UnsupportedError(f"unsupported: OpenCL ML operator {operator.node.name}: {lacks}")
    for number, node in (*graph.of("input"), *graph.of("const")):
        if len(node.shapes) != 1:
            raise UnsupportedError(f"unsupported: OpenCL ML {node.op} {node.name} (node {number}) is a tuple")
    return operators


class SubgraphProgram:
    """A graph made ready: operators, constants in their tensors, memory planned. `close` frees its own memory.

    symbol: its name, by which the tuning cache knows it. tuned: "" without a cache, else what came of it. given_memory: the
    tensors between its steps lie where the caller of `run_step` says, and it takes no memory for them.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: Graph,
        constants: Mapping[str, np.ndarray],
        symbol: str = "",
        settings: ClmlSettings | None = None,
        given_memory: bool = False,
    ):
        self.graph, self.workspace = graph, workspace
        chosen = environment.read() if settings is None else settings
        check_graph(graph, workspace.capabilities)
        self.tuned, blocks = choose_columns(graph, symbol, workspace.device, chosen)
        self.operators = check_graph(graph, workspace.capabilities, blocks)
        self.layouts = layouts(graph)
        self.steps = steps_of(graph)
        self._by_node = {operator.number: operator for operator in self.operators}
        self._storages: list[Storage] = []
        self._views: list[View] = []
        self._closed = False
        self._constants = {number: self._constant(number, node, constants) for number, node in graph.of("const")}
        size = 0 if chosen.direct or given_memory else len(workspace.on_chip)
        self.plan: OnChipPlan = OnChipPlan((), {}) if given_memory else plan(graph, size, workspace.pool)
        self._tensors = self._place_tensors()

    def _place_tensors(self) -> dict[int, _Tensor]:
        """The tensors of its own plan."""
        found: dict[int, _Tensor] = {}
        buffers = {number: self.workspace.hold(number) for number in self.plan.buffers}
        for location in self.plan.locations:
            spec = spec_of(self.graph, location.node, self.layouts[location.node])
            if location.memory == "on-chip":
                found[location.node] = self._in_chip(spec, location.at)
            else:
                found[location.node] = self._in_buffer(spec, buffers[location.at])
        return found

    def close(self) -> None:
        """Free the constants, and the buffers that no other graph uses."""
        for view in self._views:
            view.release()
        for storage in self._storages:
            self.workspace.memory.free(storage)
        if not self._closed:
            for number in self.plan.buffers:
                self.workspace.release_tensor(number)
        self._views, self._storages, self._closed = [], [], True

    def run(self, inputs: Sequence[View], outputs: Sequence[View]) -> GraphRun:
        """Inputs and outputs in the graph's order. DeviceError if one is not what its node says."""
        start = time.perf_counter()
        heads, steps = self.graph.heads, self.steps
        sources = self.graph.of("input")
        if len(inputs) != len(sources) or len(outputs) != len(heads):
            given = f"{len(inputs)} inputs and {len(outputs)} outputs"
            raise DeviceError("CL_INVALID_VALUE", f"{given}: the graph has {len(sources)} and {len(heads)}")
        given_in = [self._in_program(view, number) for view, (number, _) in zip(inputs, sources, strict=True)]
        given_out = [self._in_program(view, head.node) for view, head in zip(outputs, heads, strict=True)]
        tensors = self._tensors | {number: self._fixed(number) for number in self._constants}
        tensors |= {node: given_in[position] for node, position in steps.bound_inputs.items()}
        tensors |= {node: given_out[position] for node, position in steps.bound_results.items()}
        for step in steps.all:
            reads, writes = ([tensors[node] for node in nodes] for nodes in (step.reads, step.writes))
            if step is steps.all[0]:
                reads = [given_in[position] for position in step.arguments]
            elif step is steps.all[-1]:
                writes = [given_out[position] for position in step.arguments]
            self._do(step, reads, writes)
        return self.report_run(time.perf_counter() - start)

    def report_run(self, seconds: float) -> GraphRun:
        """What one run copies."""
        first, last = self.steps.all[0], self.steps.all[-1]
        nodes = [self.graph.nodes[number] for number in (*first.writes, *last.reads)]
        copied = sum(node.size * np.dtype(node.dtype).itemsize for node in nodes)
        bound = len(self.graph.of("input")) + len(self.graph.heads) - self.steps.copies
        return GraphRun(seconds, len(first.arguments), len(last.arguments), copied, bound)

    def run_step(self, number: int, reads: Sequence[View], writes: Sequence[View]) -> None:
        """One step, its tensors where the caller has them: those of the step's nodes, in their order and layouts; at the first
        step `reads`, at the last `writes` are the program's buffers that the step copies.

        DeviceError if a view is not what its node says.
        """
        step = self.steps.all[number]
        takes = self._in_program if number == 0 else self._in_view
        gives = self._in_program if number == len(self.steps.all) - 1 else self._in_view
        copies = step.operator is None
        taken, given = (step.reads or step.writes, step.writes or step.reads) if copies else (step.reads, step.writes)
        sources = [takes(view, node) for view, node in zip(reads, taken, strict=True)]
        targets = [gives(view, node) for view, node in zip(writes, given, strict=True)]
        with self.workspace.memory.on_chip.acting():
            self._do(step, sources, targets)

    def _do(self, step: OperatorStep, reads: Sequence[_Tensor], writes: Sequence[_Tensor]) -> None:
        if step.operator is None:
            for source, target in zip(reads, writes, strict=True):
                target.store(source.load())
            return
        operator = self._by_node[step.operator]
        values = dict(zip(step.reads, (tensor.load() for tensor in reads), strict=True))
        arrays = [self._constants[e.node] if e.node in self._constants else values[e.node] for e in operator.node.inputs]
        writes[0].store(operator.compute(arrays))

    def trace(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The value of every node for these inputs, without the memory plan: what each operator makes of those before it."""
        given = iter(inputs)
        ready = {operator.number: operator for operator in self.operators}
        values: list[np.ndarray] = []
        for number, node in enumerate(self.graph.nodes):
            if number in ready:
                values.append(ready[number].compute([values[entry.node] for entry in node.inputs]).reshape(node.shape))
            else:
                values.append(self._constants[number] if number in self._constants else _fitting(next(given), node))
        return values

    def _constant(self, number: int, node: Node, constants: Mapping[str, np.ndarray]) -> np.ndarray:
        """The constant of a node, as its tensor holds it; it never changes, so it is read back once."""
        array = constants.get(node.name)
        if array is None or array.size != node.size or array.dtype.name != node.dtype:
            found = "none" if array is None else f"{array.dtype.name} {array.shape}"
            raise DeviceError("CL_INVALID_VALUE", f"constant {node.name}: expected {node.dtype} {node.shape}, found {found}")
        dense = array.reshape(node.shape)
        if node.dtype not in ("float32", "float16"):
            return dense
        spec = spec_of(self.graph, number, self.layouts[number])
        storage = self.workspace.memory.allocate(spec.nbytes)
        self._storages.append(storage)
        tensor = self._in_buffer(spec, storage)
        tensor.store(dense)
        return tensor.load()

    def _in_chip(self, spec: MLTensorSpec, at: int) -> _Tensor:
        stored = int(np.prod(spec.stored_shape)) * np.dtype(spec.dtype).itemsize
        window = self.workspace.on_chip[at : at + stored].view(spec.dtype)

        def write(flat: np.ndarray) -> None:
            window[...] = flat

        return _Tensor(spec, lambda: window, write)

    def _in_buffer(self, spec: MLTensorSpec, storage: Storage) -> _Tensor:
        memory = self.workspace.memory
        view = memory.view(storage, BufferSpec(int(np.prod(spec.stored_shape)) * np.dtype(spec.dtype).itemsize, spec.dtype))
        self._views.append(view)
        return _Tensor(spec, lambda: memory.read(view), lambda flat: memory.write(view, flat))

    def _fixed(self, number: int) -> _Tensor:
        """The tensor of a constant, which may be a result."""
        node, array = self.graph.nodes[number], self._constants[number]
        return _Tensor(MLTensorSpec(node.shape, node.dtype, "nchw"), lambda: array, lambda flat: None)

    def _in_program(self, view: View, number: int) -> _Tensor:
        """The program's buffer with the dense elements of a node."""
        memory, node = self.workspace.memory, self.graph.nodes[number]
        spec = MLTensorSpec(node.shape, node.dtype, "nchw")
        return _Tensor(spec, lambda: _fitting(memory.read(view), node), lambda flat: memory.write(view, _fitting(flat, node)))

    def _in_view(self, view: View, number: int) -> _Tensor:
        """The tensor of a node in the caller's memory; it may be a part of that."""
        memory, node = self.workspace.memory, self.graph.nodes[number]
        spec = spec_of(self.graph, number, self.layouts[number])
        count = int(np.prod(spec.stored_shape))

        def read() -> np.ndarray:
            return _enough(memory.read(view), node, count)[:count]

        def write(flat: np.ndarray) -> None:
            room = view.spec.count if isinstance(view.spec, BufferSpec) else 0
            whole = _enough(np.zeros(room, flat.dtype), node, count)
            whole[:count] = flat
            memory.write(view, whole)

        return _Tensor(spec, read, write)


def _fitting(array: np.ndarray, node: Node) -> np.ndarray:
    if array.size != node.size or array.dtype.name != node.dtype:
        raise DeviceError(
            "CL_INVALID_VALUE", f"{node.name}: {array.size} {array.dtype.name} elements given: expected {node.dtype} {node.shape}"
        )
    return array.reshape(node.shape)


def _enough(array: np.ndarray, node: Node, count: int) -> np.ndarray:
    """Flat elements of a tensor's memory, which may be rounded up."""
    flat = array.reshape(-1)
    if flat.size < count or flat.dtype.name != node.dtype:
        raise DeviceError(
            "CL_INVALID_VALUE",
            f"{node.name}: {flat.size} {flat.dtype.name} elements of memory given: expected {count} {node.dtype}",
        )
    return flat
