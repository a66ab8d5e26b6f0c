"""Plans the memory of a graph's tensors: on-chip memory first, device memory for the rest.

The rules are those of TVM's runtime (clml_memory_planner.cc). Operators are visited in order. The result of each asks for on-chip
memory if it is not a result of the graph: neighbouring free segments are merged, and the smallest free one that is large
enough is cut, at its right end or its left end in turn ("ping-pong", so that the middle stays in one piece). A tensor that
does not fit, and every input and result of the graph, takes a buffer of device memory: the smallest free one that is large
enough of those this graph made, else one of those that other graphs of the model made, else a new one. A tensor's memory is
free after its last reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ..records import dataclass
from .graph import Graph
from .tensors import Layout, MLTensorSpec


@dataclass(frozen=True)
class TensorLocation:
    """The memory of a node's tensor: byte offset `at` in on-chip memory, or device buffer number `at`. first, last: steps."""

    node: int
    nbytes: int
    memory: Literal["on-chip", "device"]
    at: int
    first: int
    last: int


@dataclass(frozen=True)
class OnChipPlan:
    """The memory plan of one graph. buffers: number -> bytes of its device buffers. fragmented: bytes of tensors for which the
    free on-chip memory was enough, but not in one piece. on_chip_peak: the most of it in use at once, of
    on_chip_size. inner: nodes whose results
    stay inside the graph."""

    locations: tuple[TensorLocation, ...]
    buffers: Mapping[int, int]
    fragmented: int = 0
    on_chip_peak: int = 0
    on_chip_size: int = 0
    inner: frozenset[int] = frozenset()

    @property
    def on_chip(self) -> int:
        """Bytes of tensors in on-chip memory."""
        return sum(location.nbytes for location in self.locations if location.memory == "on-chip")

    @property
    def device(self) -> int:
        """Bytes of the device buffers."""
        return sum(self.buffers.values())

    @property
    def rejected(self) -> int:
        """Bytes of tensors between operators that did not fit into on-chip memory."""
        return sum(location.nbytes for location in self.locations if location.memory == "device" and location.node in self.inner)


@dataclass
class BufferPool:
    """Device buffers that the graphs of a model share one after another: number -> bytes. Numbers are never reused."""

    buffers: dict[int, int] = field(default_factory=dict)
    made: int = 0

    def new(self, nbytes: int) -> int:
        self.buffers[self.made] = nbytes
        self.made += 1
        return self.made - 1


def layouts(graph: Graph) -> dict[int, Layout]:
    """The layout of each node's tensor: OPTIMAL, but plain for what matrix products and softmax over channels of images take
    and give (softmax over the last axis names yet another layout, which is copied as OPTIMAL is).

    As in TVM's runtime the first operator that asks for another layout decides for the tensor.
    """
    from .kinds import kind_of

    found: dict[int, Layout] = {}
    for number, node in graph.of("kernel"):
        kind = kind_of(node.name)
        rows = graph.nodes[node.inputs[0].node].shape[0]
        plain = kind in ("batch_matmul", "dequant_matmul") or (kind == "dense" and not (rows == 1 and len(node.inputs) == 3))
        if plain or (kind == "softmax" and len(node.shape) == 4 and node.attrs.get("axis", -1) not in (3, -1)):
            for owner in (*(entry.node for entry in node.inputs), number):
                found.setdefault(owner, "nchw")
    return {number: found.get(number, "optimal") for number in range(len(graph.nodes))}


def spec_of(graph: Graph, number: int, layout: Layout) -> MLTensorSpec:
    """The tensor of a node's first output."""
    node = graph.nodes[number]
    return MLTensorSpec(node.shape, node.dtype, layout)


def plan(graph: Graph, on_chip_bytes: int, pool: BufferPool | None = None) -> OnChipPlan:
    """Place the tensors of a graph's inputs and operators (constants have their own memory). on_chip_bytes 0: none there."""
    return _Planner(graph, on_chip_bytes, pool or BufferPool()).run()


class _Planner:
    def __init__(self, graph: Graph, on_chip_bytes: int, pool: BufferPool):
        self.graph, self.pool = graph, pool
        self.total = on_chip_bytes
        self.segments: dict[int, int] = {0: on_chip_bytes} if on_chip_bytes else {}  # start -> bytes, free or taken
        self.taken: dict[int, int] = {}  # start of a segment -> node
        self.left = True  # the first tensor goes to the right end
        self.mine: dict[int, bool] = {}  # device buffer -> in use
        self.where: dict[int, tuple[Literal["on-chip", "device"], int]] = {}
        self.fragmented = self.peak = 0

    def run(self) -> OnChipPlan:
        readers, last = self._readers()
        heads = {head.node for head in self.graph.heads}
        layout = layouts(self.graph)
        sizes = {n: spec_of(self.graph, n, layout[n]).nbytes for n, node in enumerate(self.graph.nodes) if node.op != "const"}
        inner = frozenset(n for n in sizes if n not in heads and self.graph.nodes[n].op == "kernel")
        for number, nbytes in sizes.items():
            start = self._on_chip(nbytes, number) if number in inner and self.total else None
            self.where[number] = ("device", self._buffer(nbytes)) if start is None else ("on-chip", start)
            self.peak = max(self.peak, sum(self.segments[start] for start in self.taken))
            for entry in self.graph.nodes[number].inputs:
                if entry.node in readers:
                    readers[entry.node] -= 1
                    if not readers[entry.node] and entry.node not in heads:
                        self._free(entry.node)
        end = len(self.graph.nodes)
        locations = tuple(TensorLocation(n, sizes[n], *self.where[n], n, end if n in heads else last.get(n, n)) for n in sizes)
        buffers = {number: self.pool.buffers[number] for number in self.mine}
        return OnChipPlan(locations, buffers, self.fragmented, self.peak, self.total, inner)

    def _readers(self) -> tuple[dict[int, int], dict[int, int]]:
        """How many times each tensor is read, and by which node last."""
        count: dict[int, int] = {}
        last: dict[int, int] = {}
        for number, node in self.graph.of("kernel"):
            for entry in node.inputs:
                if self.graph.nodes[entry.node].op != "const":
                    count[entry.node] = count.get(entry.node, 0) + 1
                    last[entry.node] = number
        return count, last

    def _on_chip(self, nbytes: int, number: int) -> int | None:
        """The start of a segment cut for a tensor; None if no free one is large enough."""
        self._merge()
        free = {start: size for start, size in self.segments.items() if start not in self.taken}
        fitting = [start for start in sorted(free) if free[start] >= nbytes]
        if not fitting:
            self.fragmented += nbytes if nbytes <= sum(free.values()) else 0
            return None
        start = min(fitting, key=lambda s: (free[s], s))
        self.left = not self.left
        rest = free[start] - nbytes
        if self.left:
            self.segments[start] = nbytes
            if rest:
                self.segments[start + nbytes] = rest
        else:
            if rest:
                self.segments[start] = rest
            start += rest
            self.segments[start] = nbytes
        self.taken[start] = number
        return start

    def _merge(self) -> None:
        """Merge adjacent free segments."""
        merged: dict[int, int] = {}
        before: int | None = None
        for start in sorted(self.segments):
            if start in self.taken:
                before = None
            elif before is not None:
                merged[before] += self.segments[start]
                continue
            else:
                before = start
            merged[start] = self.segments[start]
        self.segments = merged

    def _buffer(self, nbytes: int) -> int:
        idle = [number for number, busy in self.mine.items() if not busy]
        others = [number for number in self.pool.buffers if number not in self.mine]
        for candidates in (idle, others):
            fitting = [number for number in candidates if self.pool.buffers[number] >= nbytes]
            if fitting:
                found = min(fitting, key=lambda n: (self.pool.buffers[n], n))
                break
        else:
            found = self.pool.new(nbytes)
        self.mine[found] = True
        return found

    def _free(self, number: int) -> None:
        memory, at = self.where[number]
        if memory == "on-chip":
            del self.taken[at]
        else:
            self.mine[at] = False
