"""Relax modules for OpenCL ML: one operator or one pattern each, with fixed constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.script import relax as R

nn = relax.op.nn


def constant(*shape: int, dtype: str = "float32", low: float = -1.0, high: float = 1.0) -> Any:
    """A constant that follows from its shape."""
    values = np.random.default_rng([*shape, 7]).uniform(low, high, shape)
    return relax.const((values / max(1.0, np.sqrt(np.prod(shape[1:]) / 4))).astype(dtype))


def module(make: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    """`main` of inputs of these shapes, whose result is what `make` builds of them."""
    builder = relax.BlockBuilder()
    inputs = [relax.Var(f"x{i}", R.Tensor(shape, dtype)) for i, shape in enumerate(shapes)]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(make(*inputs)))
        builder.emit_func_output(result)
    return builder.get()


def norm(x: Any, channels: int, axis: int = 1, **attrs: Any) -> Any:
    figures = [constant(channels, low=0.5, high=1.5), constant(channels), constant(channels + 0, low=-0.2, high=0.2)]
    return nn.batch_norm(x, *figures, constant(channels, low=0.5, high=2.0), axis, training=False, **attrs)


def conv(x: Any, outputs: int, size: int = 3, inputs: int = 4, dtype: str = "float32", **attrs: Any) -> Any:
    return nn.conv2d(x, constant(outputs, inputs, size, size, dtype=dtype), **attrs)


IMAGE = (1, 4, 12, 10)

OPERATORS: dict[str, tuple[list[str], Any]] = {
    "conv2d": (["conv2d"], lambda: module(lambda x: conv(x, 8), IMAGE)),
    "conv2d padded, strided": (["conv2d"], lambda: module(lambda x: conv(x, 8, strides=2, padding=(1, 0, 2, 1)), IMAGE)),
    "conv2d dilated": (["conv2d"], lambda: module(lambda x: conv(x, 8, dilation=(2, 1), padding=2), IMAGE)),
    "conv2d 1x1, batch": (["conv2d"], lambda: module(lambda x: conv(x, 6, 1), (3, 4, 5, 7))),
    "conv2d, odd channels": (["conv2d"], lambda: module(lambda x: conv(x, 5, inputs=3), (1, 3, 9, 9))),
    "conv2d + bias": (["conv2d"], lambda: module(lambda x: conv(x, 8) + constant(1, 8, 1, 1), IMAGE)),
    "conv2d + bias + relu": (["conv2d"], lambda: module(lambda x: nn.relu(conv(x, 8) + constant(1, 8, 1, 1)), IMAGE)),
    "conv2d + relu6": (["conv2d"], lambda: module(lambda x: relax.op.clip(conv(x, 8), 0, 6), IMAGE)),
    "conv2d + other clip": (["conv2d", "clip"], lambda: module(lambda x: relax.op.clip(conv(x, 8), -0.5, 0.5), IMAGE)),
    "pad + conv2d": (["conv2d"], lambda: module(lambda x: conv(nn.pad(x, (0, 0, 0, 0, 1, 2, 0, 1)), 8, padding=1), IMAGE)),
    "conv2d + batch_norm": (["conv2d"], lambda: module(lambda x: norm(conv(x, 8), 8)[0], IMAGE)),
    "conv2d + bias + batch_norm + relu": (
        ["conv2d"],
        lambda: module(lambda x: nn.relu(norm(conv(x, 8) + constant(1, 8, 1, 1), 8)[0]), IMAGE),
    ),
    "depthwise": (["depthwise_conv2d"], lambda: module(lambda x: conv(x, 4, inputs=1, groups=4, padding=1), IMAGE)),
    "depthwise + bias + relu6": (
        ["depthwise_conv2d"],
        lambda: module(lambda x: relax.op.clip(conv(x, 4, inputs=1, groups=4, strides=2) + constant(1, 4, 1, 1), 0, 6), IMAGE),
    ),
    "transposed": (
        ["conv2d_transpose"],
        lambda: module(lambda x: nn.conv2d_transpose(x, constant(4, 6, 4, 4), strides=2), IMAGE),
    ),
    "transposed, padded + bias + relu": (
        ["conv2d_transpose"],
        lambda: module(
            lambda x: nn.relu(nn.conv2d_transpose(x, constant(4, 6, 3, 3), strides=2, padding=1) + constant(1, 6, 1, 1)), IMAGE
        ),
    ),
    "transposed + batch_norm": (
        ["conv2d_transpose"],
        lambda: module(lambda x: norm(nn.conv2d_transpose(x, constant(4, 6, 3, 3)), 6, epsilon=1e-7)[0], IMAGE),
    ),
    "batch_norm": (["batch_norm"], lambda: module(lambda x: norm(x, 4)[0], IMAGE)),
    "batch_norm, last axis": (["batch_norm"], lambda: module(lambda x: norm(x, 10, axis=-1)[0], IMAGE)),
    "max_pool2d": (["max_pool2d"], lambda: module(lambda x: nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)), (1, 8, 33, 40))),
    "avg_pool2d": (["avg_pool2d"], lambda: module(lambda x: nn.avg_pool2d(x, (2, 3), (2, 2)), IMAGE)),
    "avg_pool2d, padded": (["avg_pool2d"], lambda: module(lambda x: nn.avg_pool2d(x, (3, 3), (1, 1), (1, 1)), IMAGE)),
    "mean over rows and columns": (["global_avg_pool2d"], lambda: module(lambda x: relax.op.mean(x, [2, 3], True), IMAGE)),
    "mean without dimensions": (["global_avg_pool2d"], lambda: module(lambda x: relax.op.mean(x, [2, 3]), IMAGE)),
    "adaptive average of 1x1": (["global_avg_pool2d"], lambda: module(lambda x: nn.adaptive_avg_pool2d(x, (1, 1)), IMAGE)),
    "relu": (["relu"], lambda: module(nn.relu, IMAGE)),
    "clip": (["clip"], lambda: module(lambda x: relax.op.clip(x, -0.25, 0.75), IMAGE)),
    "softmax, 2D": (["softmax"], lambda: module(nn.softmax, (1, 33))),
    "softmax, channels": (["softmax"], lambda: module(lambda x: nn.softmax(x, 1), IMAGE)),
    "softmax, last axis": (["softmax"], lambda: module(lambda x: nn.softmax(x, -1), IMAGE)),
    "reshape": (["reshape"], lambda: module(lambda x: relax.op.reshape(x, (1, 480)), IMAGE)),
    "dense": (["dense"], lambda: module(lambda x: relax.op.matmul(x, constant(32, 10)), (1, 32))),
    "dense, rows": (["dense"], lambda: module(lambda x: relax.op.matmul(x, constant(32, 10)), (5, 32))),
    "dense, square": (["dense"], lambda: module(lambda x: relax.op.matmul(x, constant(16, 16)), (3, 16))),
    "bias + dense": (["dense"], lambda: module(lambda x: constant(10) + relax.op.matmul(x, constant(32, 10)), (1, 32))),
    "bias + conv2d to one pixel": (["conv2d"], lambda: module(lambda x: constant(1, 8, 1, 1) + conv(x, 8), (1, 4, 3, 3))),
    "dense + bias": (["dense"], lambda: module(lambda x: relax.op.matmul(x, constant(32, 10)) + constant(1, 10), (1, 32))),
    "concatenate": (["concatenate"], lambda: module(lambda x, y: relax.op.concat([x, y, x], 1), IMAGE, (1, 3, 12, 10))),
    "add": (["add"], lambda: module(lambda x, y: x + y, IMAGE, IMAGE)),
    "add twice the same": (["add"], lambda: module(lambda x: x + x, IMAGE)),
    "subtract": (["subtract"], lambda: module(lambda x, y: x - y, IMAGE, IMAGE)),
    "subtract from a constant": (["subtract"], lambda: module(lambda x: constant(*IMAGE) - x, IMAGE)),
    "multiply": (["multiply"], lambda: module(lambda x, y: x * y, IMAGE, IMAGE)),
    "divide": (["divide"], lambda: module(lambda x: x / constant(*IMAGE, low=1.0, high=2.0), IMAGE)),
    "maximum": (["maximum"], lambda: module(relax.op.maximum, IMAGE, IMAGE)),
    "minimum": (["minimum"], lambda: module(relax.op.minimum, IMAGE, IMAGE)),
}
"""What it is -> (operators of OpenCL ML that it becomes, makes the module)."""

REFUSED: dict[str, tuple[str, Any]] = {
    "grouped convolution": ("2 groups", lambda: module(lambda x: conv(x, 8, inputs=2, groups=2), IMAGE)),
    "channel multiplier": ("4 groups", lambda: module(lambda x: conv(x, 8, inputs=1, groups=4), IMAGE)),
    "average with padding counted": (
        "count_include_pad",
        lambda: module(lambda x: nn.avg_pool2d(x, (3, 3), (1, 1), (1, 1), count_include_pad=True), IMAGE),
    ),
    "dilated pooling": ("dilation", lambda: module(lambda x: nn.max_pool2d(x, (2, 2), dilation=(2, 2)), IMAGE)),
    "softmax over rows": ("axis 2", lambda: module(lambda x: nn.softmax(x, 2), IMAGE)),
    "batch of images": ("first dimension of 2", lambda: module(nn.relu, (2, 4, 6, 6))),
    "five dimensions": ("four dimensions", lambda: module(nn.relu, (1, 2, 3, 4, 5))),
    "broadcast": ("one shape", lambda: module(lambda x, y: x + y, IMAGE, (1, 4, 1, 1))),
    "integers": ("float32 or float16", lambda: module(nn.relu, IMAGE, dtype="int32")),
    "sine": ("no such operator", lambda: module(relax.op.sin, IMAGE)),
    "product of inputs": ("constant weights", lambda: module(relax.op.matmul, (3, 4), (4, 5))),
}
"""What it is -> (words of the reason, makes the module)."""


def packed_product(middle: int = 7, rows: int = 3, inner: int = 64, wide: int = 16, group: int = 32) -> Any:
    """A product of halves with weights in four bits that a TIR function unpacks, as language models have it."""
    from tvm import te, tirx

    def unpack(weights: Any, scales: Any) -> Any:
        def value(k: Any, n: Any) -> Any:
            bits = weights[k // 8, n] >> tirx.Cast("uint32", (k % 8) * 4)
            return (tirx.Cast("float16", bits & tirx.const(15, "uint32")) - tirx.const(middle, "float16")) * scales[k // group, n]

        return te.compute((inner, wide), value, name="dequantize")

    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, rows, inner), "float16"))
    w = relax.Var("w", R.Tensor((inner // 8, wide), "uint32"))
    s = relax.Var("s", R.Tensor((inner // group, wide), "float16"))
    with builder.function("main", [x, w, s]):
        with builder.dataflow():
            weights = builder.emit_te(unpack, w, s, primfunc_name_hint="dequantize")
            result = builder.emit_output(relax.op.matmul(x, weights))
        builder.emit_func_output(result)
    return builder.get()
