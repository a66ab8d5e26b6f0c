"""Random small ONNX models over degenerate sizes: axes of extent 1, K = 1, one channel, one row, one group, no element at all.

A case is an operator that reduces or moves something, with what comes before and behind it. It holds the same graph twice: in the
type that a device computes in, and in float64, which ONNX's own evaluator in NumPy computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

TARGETS, DTYPES = ("buffer", "texture"), ("float32", "float16")
TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
OPSET = 17


@dataclass(frozen=True)
class Case:
    """said: its operators with their shapes, for a reader. inputs: of type `dtype`. model: in `dtype`; wide: in float64."""

    seed: int
    number: int
    target: str
    dtype: str
    said: str
    model: ModelProto
    wide: ModelProto
    inputs: dict[str, np.ndarray]


class Sizes:
    """Draws extents, every second one 1."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def one(self, most: int = 13) -> int:
        return 1 if self.rng.random() < 0.5 else int(self.rng.integers(2, most + 1))

    def pick(self, *choices: object) -> object:
        return choices[int(self.rng.integers(len(choices)))]


@dataclass
class Graph:
    """A graph under construction. shape: of its last result, `last`; None once it is an index."""

    rng: np.random.Generator
    dtype: str
    shape: tuple[int, ...] = ()
    last: str = "x"
    nodes: list[tuple[str, list[str], str, dict[str, object]]] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def weight(self, *shape: int, gain: float = 1.0) -> str:
        """A constant whose values float64 and the case's type both hold."""
        name = f"w{len(self.constants)}"
        values = self.rng.uniform(-1, 1, shape) * gain
        self.constants[name] = values.astype(self.dtype).astype(np.float64)
        return name

    def integers(self, values: list[int]) -> str:
        name = f"i{len(self.constants)}"
        self.constants[name] = np.array(values, np.int64)
        return name

    def add(self, operator: str, inputs: list[str], shape: tuple[int, ...], **attributes: object) -> None:
        name = f"t{len(self.nodes)}"
        self.nodes.append((operator, inputs, name, attributes))
        self.last, self.shape = name, shape

    def model(self, dtype: str, shape: tuple[int, ...]) -> ModelProto:
        nodes = [helper.make_node(op, inputs, [out], **attributes) for op, inputs, out, attributes in self.nodes]
        weights = [
            numpy_helper.from_array(values if values.dtype == np.int64 else values.astype(dtype), name)
            for name, values in self.constants.items()
        ]
        given = helper.make_tensor_value_info("x", TYPES[dtype], shape)
        result = helper.make_tensor_value_info(self.last, TYPES[dtype], None)
        graph = helper.make_graph(nodes, "case", [given], [result], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def draw(seed: int, number: int) -> Case:
    """The case of a number under a seed."""
    rng = np.random.default_rng([seed, number])
    sizes = Sizes(rng)
    dtype, target = str(sizes.pick(*DTYPES)), str(sizes.pick(*TARGETS))
    graph = Graph(rng, dtype)
    start = OPERATORS[int(rng.integers(len(OPERATORS)))]
    shape = start.shape(sizes)
    graph.shape = shape
    if rng.random() < 0.3:
        _elementwise(graph, sizes)
    start.build(graph, sizes)
    for _ in range(int(rng.integers(0, 4))):
        _follow(graph, sizes)
    values = rng.uniform(-2, 2, shape).astype(dtype)
    said = f"{shape} " + ", ".join(f"{op}{_said(attributes)}" for op, _, _, attributes in graph.nodes) + f" -> {graph.shape}"
    return Case(seed, number, target, dtype, said, graph.model(dtype, shape), graph.model("float64", shape), {"x": values})


def _said(attributes: dict[str, object]) -> str:
    return "" if not attributes else "(" + ", ".join(f"{name}={value}" for name, value in attributes.items()) + ")"


class Operator(Protocol):
    """One of the operators a case begins with: the shape of its input, and its nodes."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]: ...
    def build(self, graph: Graph, sizes: Sizes) -> None: ...


class Convolution:
    """2D: plain, grouped, depthwise, of kernels of 1 too."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return sizes.one(2), sizes.one(8), sizes.one(9), sizes.one(9)

    def build(self, graph: Graph, sizes: Sizes) -> None:
        convolve(graph, sizes)


class Transposed(Convolution):
    def build(self, graph: Graph, sizes: Sizes) -> None:
        n, c, h, w = graph.shape
        out, kernel, stride = sizes.one(6), sizes.one(3), sizes.one(2)
        size = [(extent - 1) * stride + kernel for extent in (h, w)]
        weight = graph.weight(c, out, kernel, kernel, gain=0.5)
        graph.add("ConvTranspose", [graph.last, weight], (n, out, *size), strides=[stride, stride])


class Product:
    """A matrix product with a constant, of rank 2 to 4."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes.one(5) for _ in range(int(sizes.rng.integers(1, 4)))) + (sizes.one(),)

    def build(self, graph: Graph, sizes: Sizes) -> None:
        multiply(graph, sizes)


class Gemm:
    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return sizes.one(5), sizes.one()

    def build(self, graph: Graph, sizes: Sizes) -> None:
        n, k = graph.shape
        m, turned = sizes.one(), bool(sizes.rng.random() < 0.5)
        weight = graph.weight(*((m, k) if turned else (k, m)))
        inputs = [graph.last, weight, graph.weight(*sizes.pick((m,), (1, m), (1,), (n, m)))]  # type: ignore[misc]
        graph.add("Gemm", inputs, (n, m), transB=int(turned), alpha=sizes.pick(1.0, 0.5), beta=sizes.pick(1.0, 2.0))


class Scores:
    """Attention's product of a tensor with itself turned round."""

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return sizes.one(3), sizes.one(6), sizes.one(6)

    def build(self, graph: Graph, sizes: Sizes) -> None:
        b, n, k = graph.shape
        given = graph.last
        graph.add("Transpose", [given], (b, k, n), perm=[0, 2, 1])
        graph.add("MatMul", [given, graph.last], (b, n, n))


class Pool(Convolution):
    def build(self, graph: Graph, sizes: Sizes) -> None:
        n, c, h, w = graph.shape
        if sizes.rng.random() < 0.3:
            graph.add(str(sizes.pick("GlobalAveragePool", "GlobalMaxPool")), [graph.last], (n, c, 1, 1))
            return
        kernel, stride = min(sizes.one(3), h, w), sizes.one(2)
        size = [(extent - kernel) // stride + 1 for extent in (h, w)]
        operator = str(sizes.pick("MaxPool", "AveragePool"))
        graph.add(operator, [graph.last], (n, c, *size), kernel_shape=[kernel, kernel], strides=[stride, stride])


class Reduction:
    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes.one(7) for _ in range(int(sizes.rng.integers(1, 5))))

    def build(self, graph: Graph, sizes: Sizes) -> None:
        reduce(graph, sizes)


class Normalisation(Reduction):
    def build(self, graph: Graph, sizes: Sizes) -> None:
        last = graph.shape[-1]
        if sizes.rng.random() < 0.5:
            graph.add("Softmax", [graph.last], graph.shape, axis=int(sizes.rng.integers(len(graph.shape))))
        else:
            inputs = [graph.last, graph.weight(last), graph.weight(last)]
            graph.add("LayerNormalization", inputs, graph.shape, axis=-1, epsilon=0.1)


class Movement(Reduction):
    """What moves elements: concatenation, transposition, gathering, padding."""

    def build(self, graph: Graph, sizes: Sizes) -> None:
        axis = int(sizes.rng.integers(len(graph.shape)))
        shape = list(graph.shape)
        kind = sizes.pick("Concat", "Transpose", "Gather", "Slice", "Expand")
        if kind == "Concat":
            join(graph, sizes, axis)
        elif kind == "Transpose":
            order = [int(item) for item in sizes.rng.permutation(len(shape))]
            graph.add("Transpose", [graph.last], tuple(shape[item] for item in order), perm=order)
        elif kind == "Gather":
            taken = [int(item) for item in sizes.rng.integers(0, shape[axis], sizes.one(4))]
            shape[axis] = len(taken)
            graph.add("Gather", [graph.last, graph.integers(taken)], tuple(shape), axis=axis)
        elif kind == "Slice":
            count = int(sizes.rng.integers(1, shape[axis] + 1))
            ends = [graph.integers([0]), graph.integers([count]), graph.integers([axis])]
            shape[axis] = count
            graph.add("Slice", [graph.last, *ends], tuple(shape))
        else:
            wide = [sizes.one(4) if extent == 1 else extent for extent in shape]
            graph.add("Expand", [graph.last, graph.integers(wide)], tuple(wide))


class Empty(Reduction):
    """A slice without elements: its sum is 0, its product 1, and what it is put beside stays."""

    def build(self, graph: Graph, sizes: Sizes) -> None:
        shape = list(graph.shape)
        axis = int(sizes.rng.integers(len(shape)))
        shape[axis] = 0
        graph.add("Slice", [graph.last, *(graph.integers([item]) for item in (0, 0, axis))], tuple(shape))
        if sizes.rng.random() < 0.4:
            join(graph, sizes, axis)
        elif sizes.rng.random() < 0.5:
            multiply(graph, sizes)
        else:
            kept = (*shape[:axis], *shape[axis + 1 :])
            graph.add(str(sizes.pick("ReduceSumSquare", "ReduceProd")), [graph.last], kept, axes=[axis], keepdims=0)


OPERATORS: tuple[Operator, ...] = (
    Convolution(), Convolution(), Transposed(), Product(), Product(), Gemm(), Scores(), Pool(), Reduction(), Normalisation(),
    Movement(), Empty(),
)  # fmt: skip


def convolve(graph: Graph, sizes: Sizes) -> None:
    n, c, h, w = graph.shape
    groups = int(sizes.pick(*(count for count in range(1, c + 1) if c % count == 0)))  # type: ignore[call-overload]
    out, kernel, stride, pad = groups * sizes.one(4), sizes.one(3), sizes.one(2), int(sizes.rng.integers(0, 2))
    kernel = kernel if min(h, w) + 2 * pad >= kernel else 1
    size = [(extent + 2 * pad - kernel) // stride + 1 for extent in (h, w)]
    inputs = [graph.last, graph.weight(out, c // groups, kernel, kernel, gain=0.5)]
    inputs += [graph.weight(out)] if sizes.rng.random() < 0.5 else []
    graph.add("Conv", inputs, (n, out, *size), group=groups, strides=[stride, stride], pads=[pad] * 4)


def multiply(graph: Graph, sizes: Sizes) -> None:
    *rows, k = graph.shape
    m = sizes.one()
    graph.add("MatMul", [graph.last, graph.weight(k, m)], (*rows, m))


def join(graph: Graph, sizes: Sizes, axis: int) -> None:
    shape, more = list(graph.shape), sizes.one(3)
    other = graph.weight(*shape[:axis], more, *shape[axis + 1 :])
    shape[axis] += more
    graph.add("Concat", [graph.last, other], tuple(shape), axis=axis)


def reduce(graph: Graph, sizes: Sizes) -> None:
    rank = len(graph.shape)
    axes = sorted(int(axis) for axis in sizes.rng.choice(rank, int(sizes.rng.integers(1, rank + 1)), replace=False))
    kept = int(sizes.rng.random() < 0.5)
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(graph.shape) if kept or axis not in axes)
    operator = str(sizes.pick("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "ReduceProd"))
    graph.add(operator, [graph.last], shape, axes=axes, keepdims=kept)


def _elementwise(graph: Graph, sizes: Sizes) -> None:
    kind, given = sizes.pick("Relu", "Sigmoid", "Tanh", "Add", "Mul", "Silu", "Exp", "Clip", "Residual"), graph.last
    if kind in ("Add", "Mul"):
        rank = len(graph.shape)
        shape = [extent if sizes.rng.random() < 0.6 else 1 for extent in graph.shape]
        shape = shape[int(sizes.rng.integers(rank + 1)) :] if rank else shape
        operands = [given, graph.weight(*shape)]
        graph.add(str(kind), operands if sizes.rng.random() < 0.7 else operands[::-1], graph.shape)
    elif kind == "Silu":
        graph.add("Sigmoid", [given], graph.shape)
        graph.add("Mul", [given, graph.last], graph.shape)
    elif kind == "Residual":
        graph.add("Tanh", [given], graph.shape)
        graph.add("Add", [given, graph.last], graph.shape)
    elif kind == "Exp":
        graph.add("Tanh", [given], graph.shape)
        graph.add("Exp", [graph.last], graph.shape)
    elif kind == "Clip":
        low, high = graph.weight(), graph.weight()
        graph.constants[low], graph.constants[high] = np.array(-0.25), np.array(0.75)
        graph.add("Clip", [given, low, high], graph.shape)
    else:
        graph.add(str(kind), [given], graph.shape)


def _follow(graph: Graph, sizes: Sizes) -> None:
    """What comes next: mostly elementwise, else another operator that reduces."""
    drawn = sizes.rng.random()
    if drawn < 0.7 or not graph.shape or 0 in graph.shape:
        _elementwise(graph, sizes)
    elif drawn < 0.8:
        reduce(graph, sizes)
    elif len(graph.shape) == 4:
        convolve(graph, sizes)
    else:
        multiply(graph, sizes)
