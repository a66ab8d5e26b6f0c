"""Whether a subgraph is worth offloading: its size, and a static estimate of the time it would take either way.

The estimate is a count, not a simulation: operations over a speed, bytes over a bandwidth (the larger of the two), a fixed
time for starting each operator, kernel and copy. Its constants are in the device profile, marked inferred. What it is for is the
RFC's open question: a subgraph of one small operator costs two copies between layouts and gains nothing.
"""

from __future__ import annotations

import math

import numpy as np

from ..profiles.ml import MLCapabilities
from ..records import dataclass
from .graph import Graph, Node
from .kinds import kind_of
from .tensors import MLTensorSpec


@dataclass(frozen=True)
class Estimate:
    """Microseconds of a subgraph as OpenCL ML operators with their copies, and as kernels of TVM's."""

    offloaded: float
    kept: float


@dataclass(frozen=True, kw_only=True)
class OffloadPolicy:
    """What is offloaded on a device.

    min_flops: floating-point operations a subgraph must have; None = the estimate decides. min_operators: how many
    operators it must have.
    """

    capabilities: MLCapabilities
    min_flops: int | None = None
    min_operators: int = 1

    def decide(self, graph: Graph) -> tuple[bool, str]:
        """Whether to offload a subgraph, and why."""
        operators, operations = len(graph.of("kernel")), flops(graph)
        if operators < self.min_operators:
            return False, f"{operators} operator{'s' if operators > 1 else ''}, fewer than {self.min_operators}"
        if self.min_flops is not None:
            fewer = operations < self.min_flops
            return not fewer, f"{operations:,} operations, {'fewer than' if fewer else 'at least'} {self.min_flops:,}"
        found = estimate(graph, self.capabilities)
        figures = f"estimated {found.offloaded:,.0f} us offloaded with copies, {found.kept:,.0f} us in kernels"
        return found.offloaded <= found.kept, figures


def flops(graph: Graph) -> int:
    """Floating-point operations of all operators; a product and its sum are two."""
    return sum(_flops(graph, node) for _, node in graph.of("kernel"))


def _flops(graph: Graph, node: Node) -> int:
    kind = kind_of(node.name)
    shapes = [graph.nodes[entry.node].shapes[entry.index] for entry in node.inputs]
    if kind in ("conv2d", "depthwise_conv2d"):
        return 2 * node.size * math.prod(shapes[1][1:]) // (shapes[1][1] if kind == "depthwise_conv2d" else 1)
    if kind == "conv2d_transpose":
        return 2 * math.prod(shapes[0]) * shapes[1][0] * math.prod(shapes[1][2:])
    if kind in ("dense", "batch_matmul"):
        return 2 * node.size * shapes[0][-1]
    if kind == "dequant_matmul":
        return 2 * node.size * shapes[2][-1] + 2 * 8 * math.prod(shapes[0])
    if kind in ("max_pool2d", "avg_pool2d"):
        return node.size * math.prod(node.attrs.get("pool_size", [1]))
    if kind.startswith("global_"):
        return math.prod(shapes[0])
    if kind in ("reshape", "concatenate", "pad", "depth_to_space"):
        return 0
    return node.size * {"softmax": 5, "batch_norm": 4, "resize_bilinear": 8}.get(kind, 1)


def estimate(graph: Graph, device: MLCapabilities) -> Estimate:
    """Time either way; see the module."""
    operations, moved = flops(graph), _traffic(graph)
    count = len(graph.of("kernel"))
    edges = [graph.nodes[number] for number, _ in graph.of("input")] + [graph.nodes[head.node] for head in graph.heads]
    memory = device.memory_mbps  # bytes in a microsecond
    copies = sum(device.kernel_start_ns / 1e3 + 2 * _nbytes(node) / memory for node in edges)
    ml = max(operations / device.ml_gflops / 1e3, moved / memory) + count * device.ml_start_ns / 1e3
    kernels = max(operations / device.kernel_gflops / 1e3, moved / memory) + count * device.kernel_start_ns / 1e3
    return Estimate(ml + copies, kernels)


def _traffic(graph: Graph) -> int:
    """Bytes that the operators read and write."""
    return sum(_nbytes(node) + sum(_nbytes(graph.nodes[e.node]) for e in node.inputs) for _, node in graph.of("kernel"))


def _nbytes(node: Node) -> int:
    if node.dtype not in ("float32", "float16"):
        return node.size * np.dtype(node.dtype).itemsize
    return MLTensorSpec(node.shape, node.dtype).nbytes
