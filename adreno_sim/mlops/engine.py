"""Runs a graph on the simulated device: its operators on tensors in memory as planned, copies in and out at its edges.

Every tensor's bytes really lie where the plan puts them, in its layout: tensors that a wrong plan lets overlap spoil each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..base.errors import DeviceError, UnsupportedError
from ..base.specs import BufferSpec, Storage, View, ViewSpec
from ..profiles.ml import MLCapabilities
from . import environment
from .environment import Settings
from .graph import Graph, Node
from .onchip import BufferPool, OnChipPlan, layouts, plan, spec_of
from .operators import Operator, make
from .tensors import MLTensorSpec, pack, unpack
from .tuner import choose_columns


class Memory(Protocol):
    """What of a device the engine needs."""

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

    def let_go(self, number: int) -> None:
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


class Program:
    """A graph made ready: operators, constants in their tensors, memory planned. `close` frees its own memory.

    symbol: its name, by which the tuning cache knows it. tuned: "" without a cache, else what came of it.
    """

    def __init__(
        self,
        workspace: Workspace,
        graph: Graph,
        constants: Mapping[str, np.ndarray],
        symbol: str = "",
        settings: Settings | None = None,
    ):
        self.graph, self.workspace = graph, workspace
        chosen = environment.read() if settings is None else settings
        check_graph(graph, workspace.capabilities)
        self.tuned, blocks = choose_columns(graph, symbol, workspace.device, chosen)
        self.operators = check_graph(graph, workspace.capabilities, blocks)
        self.layouts = layouts(graph)
        self.plan: OnChipPlan = plan(graph, 0 if chosen.direct else len(workspace.on_chip), workspace.pool)
        self._storages: list[Storage] = []
        self._views: list[View] = []
        self._closed = False
        self._tensors: dict[int, _Tensor] = {}
        self._constants = {number: self._constant(number, node, constants) for number, node in graph.of("const")}
        buffers = {number: workspace.hold(number) for number in self.plan.buffers}
        for location in self.plan.locations:
            spec = spec_of(graph, location.node, self.layouts[location.node])
            if location.memory == "on-chip":
                self._tensors[location.node] = self._in_chip(spec, location.at)
            else:
                self._tensors[location.node] = self._in_buffer(spec, buffers[location.at])

    def close(self) -> None:
        """Free the constants, and the buffers that no other graph uses."""
        for view in self._views:
            view.release()
        for storage in self._storages:
            self.workspace.memory.free(storage)
        if not self._closed:
            for number in self.plan.buffers:
                self.workspace.let_go(number)
        self._views, self._storages, self._closed = [], [], True

    def run(self, inputs: Sequence[View], outputs: Sequence[View]) -> GraphRun:
        """Inputs and outputs in the graph's order. DeviceError where one is not what its node says."""
        start = time.perf_counter()
        heads = self.graph.heads
        sources, memory = self.graph.of("input"), self.workspace.memory
        if len(inputs) != len(sources) or len(outputs) != len(heads):
            given = f"{len(inputs)} inputs and {len(outputs)} outputs"
            raise DeviceError("CL_INVALID_VALUE", f"{given}: the graph has {len(sources)} and {len(heads)}")
        plain: dict[int, np.ndarray] = {}
        copied = copies_in = copies_out = 0
        for view, (number, node) in zip(inputs, sources, strict=True):
            dense = _fitting(memory.read(view), node)
            if self.layouts[number] == "nchw":
                plain[number] = dense
            else:
                self._tensors[number].store(dense)
                copies_in, copied = copies_in + 1, copied + dense.nbytes
        for operator in self.operators:
            arrays = [self._load(entry.node, plain) for entry in operator.node.inputs]
            self._tensors[operator.number].store(operator.compute(arrays))
        for view, head in zip(outputs, heads, strict=True):
            dense = self._load(head.node, plain)
            memory.write(view, _fitting(dense, self.graph.nodes[head.node]))
            if self.layouts[head.node] != "nchw":
                copies_out, copied = copies_out + 1, copied + dense.nbytes
        bound = len(inputs) + len(outputs) - copies_in - copies_out
        return GraphRun(time.perf_counter() - start, copies_in, copies_out, copied, bound)

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

    def _load(self, number: int, plain: Mapping[int, np.ndarray]) -> np.ndarray:
        if number in plain:
            return plain[number]
        if number in self._constants:
            return self._constants[number]
        return self._tensors[number].load()

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


def _fitting(array: np.ndarray, node: Node) -> np.ndarray:
    if array.size != node.size or array.dtype.name != node.dtype:
        raise DeviceError(
            "CL_INVALID_VALUE", f"{node.name}: {array.size} {array.dtype.name} elements given: expected {node.dtype} {node.shape}"
        )
    return array.reshape(node.shape)
