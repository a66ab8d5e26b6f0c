"""The operators of a graph: what each takes of its node, refuses, and computes on dense arrays (N, C, H, W).

Attributes are read as TVM's runtime reads them. An operator is refused, before anything runs, where that runtime refuses it
or would compute something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import UnsupportedError
from ..records import dataclass
from . import convolution, elementwise, matrix, pooling, rearranging
from .arithmetic import Mode, mode_of, round_to_storage, softmax
from .convolution import Window
from .graph import Graph, Node
from .kinds import kind_of

Arrays = Sequence[np.ndarray]
Compute = Callable[[Arrays], np.ndarray]

FLOATS = ("float32", "float16")


@dataclass(frozen=True)
class Operator:
    """One kernel node made ready. compute: its inputs as dense arrays to its result, all of the mode's type."""

    number: int
    kind: str
    node: Node
    mode: Mode
    compute: Compute


TUNABLE = ("conv2d", "dense", "batch_matmul", "dequant_matmul")
"""Operators that are products of matrices, for which tuning chooses how many columns are computed at once."""


def make(graph: Graph, number: int, block: int = 0) -> Operator:
    """The operator of kernel node `number`; block: what tuning chose, 0 = nothing.

    UnsupportedError names the node and what about it is not supported.
    """
    node = graph.nodes[number]
    kind = kind_of(node.name)
    reader = _Reader(graph, node, block)
    reader.check_tensors(kind)
    mode = mode_of(node.dtype, str(node.attrs.get("accumulate", "")))
    return Operator(number, kind, node, mode, _MAKE[kind](reader, mode))


@dataclass(frozen=True)
class _Reader:
    """Reads a node's attributes and the shapes of what it is given."""

    graph: Graph
    node: Node
    block: int = 0

    def shape(self, position: int) -> tuple[int, ...]:
        entry = self.node.inputs[position]
        return self.graph.nodes[entry.node].shapes[entry.index]

    def ints(self, key: str, count: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        value = self.node.attrs.get(key, default)
        good = isinstance(value, (list, tuple)) and len(value) == count and all(isinstance(item, int) for item in value)
        self.require(good, f"{key} = {value!r}: expected {count} integers")
        return tuple(value)

    def number(self, key: str, default: float | None = None) -> float:
        value = self.node.attrs.get(key, default)
        self.require(isinstance(value, (int, float)), f"{key} = {value!r}: expected a number")
        return float(value)

    def window(self) -> Window:
        padding = self.ints("padding", 4, (0, 0, 0, 0))
        return Window(padding, self.ints("strides", 2), self.ints("dilation", 2, (1, 1)))  # type: ignore[arg-type]

    def require(self, condition: Any, what: str) -> None:
        if not condition:
            raise UnsupportedError(f"unsupported: OpenCL ML operator {self.node.name}: {what}")

    def check_tensors(self, kind: str) -> None:
        """Tensors of the extension are float32 or float16 and have at most four dimensions."""
        for position, entry in enumerate(self.node.inputs):
            source = self.graph.nodes[entry.node]
            packed = kind == "dequant_matmul" and position == 0
            dtype = source.dtypes[entry.index]
            self.require(dtype in FLOATS or packed, f"input {position} is {dtype}: tensors are float32 or float16")
            self.require(dtype == self.node.dtype or packed, f"input {position} is {dtype}, the result {self.node.dtype}")
            self.require(len(source.shapes[entry.index]) <= 4, f"input {position} has more than four dimensions")
        self.require(len(self.node.shapes) == 1, "more than one result")
        self.require(len(self.node.shape) <= 4, "its result has more than four dimensions")

    def check_result(self, *shape: int) -> None:
        self.require(self.node.shape == shape, f"its result is {self.node.shape}, of these inputs it would be {shape}")

    def check_inputs(self, low: int, high: int | None = None) -> None:
        count = len(self.node.inputs)
        self.require(low <= count <= (high or low), f"{count} inputs")


def _conv2d(r: _Reader, mode: Mode) -> Compute:
    groups = int(r.number("groups", 1))
    r.require(groups == 1, f"{groups} groups: the runtime's convolution takes 1")
    data, weights, window = r.shape(0), r.shape(1), r.window()
    r.require(len(data) == len(weights) == 4 and weights[1] == data[1], f"weights {weights} for data {data}")
    r.check_result(data[0], weights[0], *window.out_size(data[2], data[3], weights[2], weights[3]))
    return _with_epilogue(r, weights[0], mode, lambda a: convolution.convolve(a[0], a[1], window, mode, r.block))


def _depthwise(r: _Reader, mode: Mode) -> Compute:
    data, weights, window = r.shape(0), r.shape(1), r.window()
    good = len(data) == len(weights) == 4 and weights[:2] == (1, data[1])
    r.require(good, f"weights {weights} for data {data}: expected (1, channels, height, width)")
    r.check_result(data[0], data[1], *window.out_size(data[2], data[3], weights[2], weights[3]))
    return _with_epilogue(r, data[1], mode, lambda a: convolution.convolve_depthwise(a[0], a[1], window, mode))


def _conv2d_transpose(r: _Reader, mode: Mode) -> Compute:
    data, weights, window = r.shape(0), r.shape(1), r.window()
    groups, extra = int(r.number("groups", 1)), r.ints("output_padding", 2, (0, 0))
    r.require(groups == 1, f"{groups} groups: the runtime leaves them out")
    r.require(extra == (0, 0), f"output_padding {list(extra)}: the runtime leaves it out")
    r.require(len(data) == len(weights) == 4 and weights[1] == data[1], f"weights {weights} for data {data}")
    sides = window.padding
    size = [
        (data[2 + i] - 1) * window.strides[i] + window.dilation[i] * (weights[2 + i] - 1) + 1 - sides[i] - sides[i + 2]
        for i in (0, 1)
    ]
    r.check_result(data[0], weights[0], *size)
    return _with_epilogue(r, weights[0], mode, lambda a: convolution.convolve_transposed(a[0], a[1], window, (0, 0), mode))


def _with_epilogue(r: _Reader, channels: int, mode: Mode, convolve: Compute) -> Compute:
    """A convolution with the bias, batch normalisation and activation of its node."""
    count = len(r.node.inputs)
    r.require(count in (2, 3, 6, 7), f"{count} inputs: expected data, weights, perhaps a bias, perhaps four of a normalisation")
    bias, figures = (2 if count in (3, 7) else None), (count - 4 if count >= 6 else None)
    for position in range(2, count):
        r.require(
            int(np.prod(r.shape(position))) == channels, f"input {position} is {r.shape(position)}: expected {channels} values"
        )
    kind = r.node.attrs.get("activation_type", "")
    r.require(kind in ("", *elementwise.CEILING), f"activation {kind!r}")
    axis, epsilon = 1, 0.0
    if figures is not None:
        said = r.node.attrs.get("batchnorm")
        r.require(isinstance(said, list) and len(said) >= 2, f"batchnorm = {said!r}: expected axis and epsilon")
        axis, epsilon = int(said[0]), float(said[1])  # type: ignore[index]

    def compute(a: Arrays) -> np.ndarray:
        out = convolve(a)
        if bias is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                out = _require_held(out + a[bias].astype(np.float32).reshape(1, -1, 1, 1), mode)
        if figures is not None:
            scale, shift, mean, variance = a[figures : figures + 4]
            out = elementwise.normalise(out, scale, shift, mean, variance, axis=axis, epsilon=epsilon, mode=mode)
        return elementwise.activate(round_to_storage(out, mode), kind, mode) if kind else round_to_storage(out, mode)

    return compute


def _require_held(values: np.ndarray, mode: Mode) -> np.ndarray:
    """Sums between the steps of a fused operator: halves where the mode sums in half."""
    return round_to_storage(values, mode).astype(np.float32) if mode == "float16" else values


def _activation(kind: str) -> Callable[[_Reader, Mode], Compute]:
    def make(r: _Reader, mode: Mode) -> Compute:
        r.check_inputs(1)
        r.check_result(*r.shape(0))
        return lambda a: elementwise.activate(a[0], kind, mode)

    return make


def _clip(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(1)
    low, high = r.number("a_min"), r.number("a_max")
    return lambda a: elementwise.clip(a[0], low, high, mode)


def _batch_norm(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(5)
    axis, epsilon, data = int(r.number("axis")), r.number("epsilon"), r.shape(0)
    r.require(0 <= axis < len(data), f"axis {axis} of data {data}")
    r.check_result(*data)
    for position in range(1, 5):
        r.require(r.shape(position) == (data[axis],), f"input {position} is {r.shape(position)}: expected ({data[axis]},)")
    return lambda a: elementwise.normalise(a[0], a[1], a[2], a[3], a[4], axis=axis, epsilon=epsilon, mode=mode)


def _pool(pool: Callable[..., np.ndarray]) -> Callable[[_Reader, Mode], Compute]:
    def make(r: _Reader, mode: Mode) -> Compute:
        r.check_inputs(1)
        data, size, window = r.shape(0), r.ints("pool_size", 2), r.window()
        r.require(len(data) == 4, f"data {data}")
        r.require(window.dilation == (1, 1), f"dilation {list(window.dilation)}: the runtime leaves it out")
        padded = any(window.padding) and bool(r.node.attrs.get("count_include_pad", 0))
        averaged = pool is pooling.pool_average
        r.require(not (padded and averaged), "count_include_pad: the runtime leaves padding out of averages")
        r.check_result(data[0], data[1], *window.out_size(data[2], data[3], *size))
        return lambda a: pool(a[0], size, window, mode)

    return make


def _global_pool(pool: Callable[..., np.ndarray]) -> Callable[[_Reader, Mode], Compute]:
    def make(r: _Reader, mode: Mode) -> Compute:
        r.check_inputs(1)
        data = r.shape(0)
        r.require(len(data) == 4 and r.node.size == data[0] * data[1], f"data {data} to {r.node.shape}")
        return lambda a: pool(a[0], data[2:], Window(), mode).reshape(r.node.shape)

    return make


def _reshape(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(1)
    r.require(int(np.prod(r.shape(0))) == r.node.size, f"{r.shape(0)} to {r.node.shape}")
    return lambda a: a[0].reshape(r.node.shape)


def _softmax(r: _Reader, mode: Mode) -> Compute:
    """The runtime's softmax is over channels; of four dimensions also over the last, by naming the layout NHWC."""
    r.check_inputs(1)
    data, axis = r.shape(0), int(r.number("axis", -1))
    axis += len(data) if axis < 0 else 0
    known = axis == 1 or (len(data) == 4 and axis == 3)
    r.require(len(data) >= 2 and known, f"axis {axis} of {data}: the runtime's softmax is over channels")
    return lambda a: softmax(a[0], axis, mode)


def _concatenate(r: _Reader, mode: Mode) -> Compute:
    axis = int(r.number("axis"))
    r.require(0 <= axis < len(r.node.shape), f"axis {axis} of {r.node.shape}")
    rest = [(*r.shape(i)[:axis], *r.shape(i)[axis + 1 :]) for i in range(len(r.node.inputs))]
    r.require(len(set(rest)) == 1, "inputs of different shapes")
    r.check_result(*r.shape(0)[:axis], sum(r.shape(i)[axis] for i in range(len(rest))), *r.shape(0)[axis + 1 :])
    return lambda a: np.concatenate(a, axis)


def _dense(r: _Reader, mode: Mode) -> Compute:
    """(M, K) times weights (N, K), plus a bias of N values where M is 1."""
    r.check_inputs(2, 3)
    data, weights = r.shape(0), r.shape(1)
    r.require(len(data) == len(weights) == 2 and data[1] == weights[1], f"weights {weights} for data {data}")
    biased = len(r.node.inputs) == 3
    r.require(not biased or data[0] == 1, "a bias with more than one row: the runtime's product does not have it")
    r.check_result(data[0], weights[0])

    def compute(a: Arrays) -> np.ndarray:
        return matrix.multiply(a[0], a[1].T, a[2] if biased else None, mode, r.block)

    return compute


def _batch_matmul(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(2)
    data, weights, turned = r.shape(0), r.shape(1), bool(r.number("transpose_b", 0))
    r.require(
        len(data) == len(weights) == 3 and data[0] == weights[0] == 1, f"{data} times {weights}: the runtime takes a batch of 1"
    )
    r.require(turned, "a product that is not by the transposed: the runtime takes its sizes from the wrong axes")
    r.require(weights[2] == data[2], f"{data} times the transposed of {weights}")
    r.check_result(1, data[1], weights[1])
    return lambda a: matrix.multiply(a[0][0], a[1][0].T, None, mode, r.block)[None]


def _dequant_matmul(r: _Reader, mode: Mode) -> Compute:
    """Inputs: packed weights (K / 8, N) of eight 4-bit values each, scales (K / group, N), data (1, M, K), perhaps a bias (N)."""
    r.check_inputs(3, 4)
    packed, scales, data = r.shape(0), r.shape(1), r.shape(2)
    entry = r.node.inputs[0]
    dtype = r.graph.nodes[entry.node].dtypes[entry.index]
    r.require(dtype == "uint32", f"weights are {dtype}: expected eight 4-bit values in a uint32")
    r.require(len(data) == 3 and data[0] == 1 and packed[0] * 8 == data[2], f"weights {packed} for data {data}")
    r.require(scales[1] == packed[1] and data[2] % scales[0] == 0, f"scales {scales} for weights {packed}")
    r.check_result(1, data[1], packed[1])

    def compute(a: Arrays) -> np.ndarray:
        weights = matrix.dequantise(a[0], a[1], mode)
        return matrix.multiply(a[2][0], weights, a[3] if len(a) == 4 else None, mode, r.block)[None]

    return compute


def _binary(name: str) -> Callable[[_Reader, Mode], Compute]:
    def make(r: _Reader, mode: Mode) -> Compute:
        r.check_inputs(2)
        r.require(r.shape(0) == r.shape(1) == r.node.shape, f"{r.shape(0)} and {r.shape(1)}: expected two of one shape")
        return lambda a: elementwise.binary(name, a[0], a[1], mode)

    return make


def _pad(r: _Reader, mode: Mode) -> Compute:
    """pad_width: (top, bottom, left, right), or those of all four dimensions."""
    r.check_inputs(1, 2)
    kind, widths = str(r.node.attrs.get("pad_mode", "constant")), r.node.attrs.get("pad_width", [])
    if isinstance(widths, list) and len(widths) == 8:
        r.require(not any(widths[:4]), f"pad_width {widths}: only rows and columns can be padded")
        widths = widths[4:]
    r.require(kind in rearranging.PAD_MODES, f"pad mode {kind!r}")
    r.require(isinstance(widths, list) and len(widths) == 4, f"pad_width {widths!r}: expected four or eight")
    r.require(not float(r.node.attrs.get("pad_value", 0) or 0), "padding with a value other than 0: the runtime leaves it out")
    n, c, height, width = r.shape(0)
    r.check_result(n, c, height + widths[0] + widths[1], width + widths[2] + widths[3])
    return lambda a: rearranging.pad(a[0], tuple(widths), kind)


def _depth_to_space(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(1)
    block, (n, c, height, width) = int(r.number("block_size")), r.shape(0)
    order = r.node.attrs.get("mode", "DCR")
    r.require(order == "DCR", f"mode {order!r}: the runtime leaves it out")
    r.require(block > 0 and c % block**2 == 0, f"blocks of {block} from {c} channels")
    r.check_result(n, c // block**2, height * block, width * block)
    return lambda a: rearranging.depth_to_space(a[0], block)


def _resize(r: _Reader, mode: Mode) -> Compute:
    r.check_inputs(1)
    method = r.node.attrs.get("method", "bilinear")
    r.require(method == "bilinear", f"method {method!r}")
    r.require(r.node.shape[:2] == r.shape(0)[:2], f"{r.shape(0)} to {r.node.shape}")
    aligned = bool(r.number("align_corners", 0))
    return lambda a: rearranging.resize_bilinear(a[0], r.node.shape[2:], aligned, mode)  # type: ignore[arg-type]


_MAKE: dict[str, Callable[[_Reader, Mode], Compute]] = {
    "conv2d": _conv2d, "depthwise_conv2d": _depthwise, "conv2d_transpose": _conv2d_transpose,
    "relu": _activation("relu"), "relu6": _activation("relu6"), "clip": _clip, "batch_norm": _batch_norm,
    "max_pool2d": _pool(pooling.pool_max), "avg_pool2d": _pool(pooling.pool_average),
    "global_max_pool2d": _global_pool(pooling.pool_max), "global_avg_pool2d": _global_pool(pooling.pool_average),
    "reshape": _reshape, "softmax": _softmax, "concatenate": _concatenate, "dense": _dense, "batch_matmul": _batch_matmul,
    "dequant_matmul": _dequant_matmul, "pad": _pad, "depth_to_space": _depth_to_space, "resize_bilinear": _resize,
    **{name: _binary(name) for name in elementwise.BINARY},
}  # fmt: skip
