"""The networks of TVM's test programs (python/tvm/relay/testing, apache/tvm up to 0.18), whose layers the records have.

Weights are zeros: no time follows from values. A batch normalisation is folded into the convolution before it where there is one,
else a product and a sum remain. The picture has four channels, as TVM's textures pad three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from time_records.record import CONV, DEPTHWISE, Record, Split
from tvm import relax
from tvm.relax import op

CLASSES = 1000


class Builder:
    """A Relax function that is written layer by layer. dtype: of all tensors. convolutions: so far, with a schedule of ones."""

    def __init__(self, dtype: str, side: int):
        self.dtype, self.blocks = dtype, relax.BlockBuilder()
        self.convolutions: list[Record] = []
        self.picture = relax.Var("picture", relax.TensorType((1, 4, side, side), dtype))

    def build(self, network: Callable[[Builder, Any], Any]) -> Any:
        """The module whose main function is the network."""
        with self.blocks.function("main", [self.picture]):
            with self.blocks.dataflow():
                result = self.blocks.emit_output(network(self, self.picture))
            self.blocks.emit_func_output(result)
        return self.blocks.get()

    def emit(self, expr: Any) -> Any:
        return self.blocks.emit(expr)

    def constant(self, *shape: int) -> Any:
        return relax.const(np.zeros(shape, self.dtype))

    def sizes(self, x: Any) -> list[int]:
        return [int(size) for size in x.ty.shape]

    def conv(
        self, x: Any, outputs: int, kernel: Sequence[int] | int, stride: int = 1, padding: Sequence[int] | int = 0, *,
        depthwise: bool = False, bias: bool = True, relu: bool = True,
    ) -> Any:  # fmt: skip
        """A convolution; bias: also what is left of the normalisation behind it."""
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        top, left = (padding, padding) if isinstance(padding, int) else padding
        inputs = self.sizes(x)[1]
        weight = self.constant(outputs, 1 if depthwise else inputs, height, width)
        groups, one = inputs if depthwise else 1, Split(1, 1)
        self.convolutions.append(Record(
            DEPTHWISE if depthwise else CONV, self.dtype, tuple(self.sizes(x)), tuple(self.sizes(weight)), (stride, stride),
            (top, left, top, left), (1, 1), one, one, one, 1, 1, 1, 0.0,
        ))  # fmt: skip
        y = self.emit(op.nn.conv2d(x, weight, (stride, stride), (top, left, top, left), groups=groups))
        if bias:
            y = self.emit(op.add(y, self.constant(1, outputs, 1, 1)))
        return self.emit(op.nn.relu(y)) if relu else y

    def normalise(self, x: Any) -> Any:
        """A normalisation that no convolution is before, and its activation."""
        channels = self.sizes(x)[1]
        scaled = self.emit(op.multiply(x, self.constant(1, channels, 1, 1)))
        return self.emit(op.nn.relu(self.emit(op.add(scaled, self.constant(1, channels, 1, 1)))))

    def max_pool(self, x: Any, size: int, stride: int, padding: int = 0) -> Any:
        return self.emit(op.nn.max_pool2d(x, (size, size), (stride, stride), (padding,) * 4))

    def avg_pool(self, x: Any, size: int, stride: int, padding: int = 0) -> Any:
        return self.emit(op.nn.avg_pool2d(x, (size, size), (stride, stride), (padding,) * 4, count_include_pad=False))

    def concat(self, parts: Sequence[Any]) -> Any:
        return self.emit(op.concat(list(parts), axis=1))

    def classify(self, x: Any) -> Any:
        """The mean of each channel, a matrix product, and a softmax."""
        mean = self.emit(op.nn.adaptive_avg_pool2d(x, (1, 1)))
        channels = self.sizes(mean)[1]
        flat = self.emit(op.reshape(mean, (1, channels)))
        product = self.emit(op.matmul(flat, self.emit(op.permute_dims(self.constant(CLASSES, channels)))))
        return self.emit(op.nn.softmax(self.emit(op.add(product, self.constant(1, CLASSES)))))


def resnet(units: Sequence[int], bottleneck: bool) -> Callable[[Builder, Any], Any]:
    """With normalisations before convolutions, and a projection in the first unit of each stage."""
    filters = [256, 512, 1024, 2048] if bottleneck else [64, 128, 256, 512]

    def unit(b: Builder, x: Any, outputs: int, stride: int, first: bool) -> Any:
        active = b.normalise(x)
        if bottleneck:
            y = b.conv(active, outputs // 4, 1, stride)
            y = b.conv(b.conv(y, outputs // 4, 3, 1, 1), outputs, 1, bias=False, relu=False)
        else:
            y = b.conv(b.conv(active, outputs, 3, stride, 1), outputs, 3, 1, 1, bias=False, relu=False)
        shortcut = b.conv(active, outputs, 1, stride, bias=False, relu=False) if first else x
        return b.emit(op.add(y, shortcut))

    def network(b: Builder, x: Any) -> Any:
        x = b.max_pool(b.conv(x, 64, 7, 2, 3), 3, 2, 1)
        for stage, (count, outputs) in enumerate(zip(units, filters, strict=True)):
            for number in range(count):
                x = unit(b, x, outputs, 2 if stage and not number else 1, not number)
        return b.classify(b.normalise(x))

    return network


def densenet(dense: bool) -> Callable[[Builder, Any], Any]:
    """DenseNet-121. dense: each layer reads all layers of its block before it; TVM's test program, and so its records, chain them
    instead, and put them together where a block ends."""

    def network(b: Builder, x: Any) -> Any:
        x = b.max_pool(b.conv(x, 64, 7, 2, 3), 3, 2, 1)
        for stage, layers in enumerate((6, 12, 24, 16)):
            parts, last = [x] if dense else [], x
            for _ in range(layers):
                y = b.conv(b.normalise(b.concat(parts) if dense else last), 128, 1)
                last = b.conv(y, 32, 3, 1, 1, bias=False, relu=False)
                parts.append(last)
            x = b.normalise(b.concat(parts))
            if stage < 3:
                outputs = (128, 256, 512)[stage]
                x = b.avg_pool(b.conv(x, outputs, 1, bias=False, relu=False), 2, 2)
        return b.classify(x)

    return network


def mobilenet(b: Builder, x: Any) -> Any:
    x = b.conv(x, 32, 3, 2, 1)
    strides = {64: (1,), 128: (2, 1), 256: (2, 1), 512: (2, 1, 1, 1, 1, 1), 1024: (2, 1)}
    for outputs, steps in strides.items():
        for stride in steps:
            channels = b.sizes(x)[1]
            x = b.conv(b.conv(x, channels, 3, stride, 1, depthwise=True), outputs, 1)
    return b.classify(x)


def inception_v3(b: Builder, x: Any) -> Any:
    x = b.conv(b.conv(b.conv(x, 32, 3, 2), 32, 3), 64, 3, 1, 1)
    x = b.conv(b.conv(b.max_pool(x, 3, 2), 80, 1), 192, 3)
    x = b.max_pool(x, 3, 2)
    for pooled in (32, 64, 64):
        x = b.concat([
            b.conv(x, 64, 1), b.conv(b.conv(x, 48, 1), 64, 5, 1, 2),
            b.conv(b.conv(b.conv(x, 64, 1), 96, 3, 1, 1), 96, 3, 1, 1), b.conv(b.avg_pool(x, 3, 1, 1), pooled, 1),
        ])  # fmt: skip
    x = b.concat([
        b.conv(x, 384, 3, 2), b.conv(b.conv(b.conv(x, 64, 1), 96, 3, 1, 1), 96, 3, 2), b.max_pool(x, 3, 2),
    ])  # fmt: skip
    row, column = {"kernel": (1, 7), "padding": (0, 3)}, {"kernel": (7, 1), "padding": (3, 0)}
    for c in (128, 160, 160, 192):
        twice = b.conv(b.conv(b.conv(x, c, 1), c, **column), c, **row)
        x = b.concat([
            b.conv(x, 192, 1), b.conv(b.conv(b.conv(x, c, 1), c, **row), 192, **column),
            b.conv(b.conv(twice, c, **column), 192, **row), b.conv(b.avg_pool(x, 3, 1, 1), 192, 1),
        ])  # fmt: skip
    y = b.conv(b.conv(b.conv(x, 192, 1), 192, **row), 192, **column)
    x = b.concat([b.conv(b.conv(x, 192, 1), 320, 3, 2), b.conv(y, 192, 3, 2), b.max_pool(x, 3, 2)])
    for _ in range(2):
        forks = [b.conv(x, 384, 1), b.conv(b.conv(x, 448, 1), 384, 3, 1, 1)]
        sides = ((1, 3), (0, 1)), ((3, 1), (1, 0))
        halves = [b.conv(fork, 384, kernel, padding=padding) for fork in forks for kernel, padding in sides]
        x = b.concat([b.conv(x, 320, 1), *halves, b.conv(b.avg_pool(x, 3, 1, 1), 192, 1)])
    return b.classify(x)


NETWORKS: dict[str, tuple[int, Callable[[Builder, Any], Any]]] = {
    "resnet-18": (224, resnet((2, 2, 2, 2), False)),
    "resnet-34": (224, resnet((3, 4, 6, 3), False)),
    "resnet-50": (224, resnet((3, 4, 6, 3), True)),
    "densenet-121": (224, densenet(False)),
    "densenet-121, all connected": (224, densenet(True)),
    "inception_v3": (299, inception_v3),
    "mobilenet v1": (224, mobilenet),
}
"""Side of the picture, and what is built on it."""


def make_network(name: str, dtype: str) -> tuple[Any, list[Record]]:
    """Returns the Relax module of a network, and its convolutions."""
    side, network = NETWORKS[name]
    builder = Builder(dtype, side)
    return builder.build(network), builder.convolutions
