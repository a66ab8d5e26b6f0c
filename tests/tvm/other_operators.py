"""Operators of the table: pooling, elementwise, layout changes, reductions, products, symbolic shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from operator_table import IMAGE, C, H, N, W, bias, case, conv, graph, op, relax, tvm, twice_as_large, weight

# Pooling


@case
def max_pool2d() -> Any:
    return graph(lambda x: op.nn.max_pool2d(conv(x, 12), (2, 2), strides=(2, 2)), IMAGE)


@case
def max_pool2d_padded() -> Any:
    return graph(lambda x: op.nn.relu(op.nn.max_pool2d(conv(x, 12), (3, 3), strides=(2, 2), padding=(1, 1))), IMAGE)


@case
def max_pool2d_then_conv2d() -> Any:
    return graph(lambda x: conv(op.nn.max_pool2d(conv(x, 12), (3, 3), strides=(2, 2)), C, inputs=12), IMAGE)


@case
def max_pool2d_plain() -> Any:
    return graph(lambda x: op.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)), IMAGE)


@case
def avg_pool2d() -> Any:
    return graph(lambda x: op.nn.avg_pool2d(conv(x, 12), (3, 3), strides=(2, 2)), IMAGE)


@case
def avg_pool2d_padded() -> Any:
    return graph(lambda x: op.nn.avg_pool2d(conv(x, 12), (3, 3), padding=(1, 1), count_include_pad=False), IMAGE)


@case
def adaptive_avg_pool2d() -> Any:
    return graph(lambda x: op.nn.adaptive_avg_pool2d(conv(x, 12), (1, 1)), IMAGE)


@case
def adaptive_avg_pool2d_grid() -> Any:
    return graph(lambda x: op.nn.adaptive_avg_pool2d(conv(x, 12), (3, 4)), IMAGE)


# Elementwise, in textures (between convolutions) and in buffers


@case
def elementwise_chain() -> Any:
    return graph(lambda x: op.exp(op.negative(op.abs(op.sqrt(op.abs(x))))), IMAGE)


@case
def elementwise_texture() -> Any:
    """A value with two readers is not fused: its elementwise function reads and writes textures."""

    def body(x: Any) -> Any:
        entry = conv(x, C)
        middle = op.tanh(op.nn.max_pool2d(entry, (3, 3), padding=(1, 1)))
        return op.add(conv(middle, C), op.multiply(middle, entry))

    return graph(body, IMAGE)


@case
def scalar_operands() -> Any:
    return graph(lambda x: op.multiply(op.add(conv(x, C), relax.const(0.5, "float32")), relax.const(3.0, "float32")), IMAGE)


@case
def sum_of_stack() -> Any:
    """Three operands, one of them a broadcast that changes nothing: what TVM's importer makes of ONNX's Sum."""

    def body(x: Any) -> Any:
        same = op.broadcast_to(conv(x, C), relax.ShapeExpr(IMAGE))
        return conv(op.nn.relu(op.sum(op.stack([same, conv(x, C, kernel=1), x], axis=0), axis=[0])), C)

    return graph(body, IMAGE)


@case
def extrema_of_stack() -> Any:
    """Max, Min and Mean of ONNX, as TVM's importer writes them."""

    def body(x: Any) -> Any:
        first, second = conv(x, C), conv(x, C, kernel=1)
        high, low, mean = (reduce(op.stack([first, second], axis=0), axis=[0]) for reduce in (op.max, op.min, op.mean))
        return conv(op.add(high, op.multiply(low, mean)), C)

    return graph(body, IMAGE)


@case
def split_channels() -> Any:
    """Splits at channel numbers, into equal and into other parts, as ONNX's Split is imported."""

    def body(x: Any) -> Any:
        entry = conv(x, 16)
        even, odd = op.split(entry, [8], axis=1), op.split(entry, [4], axis=1)
        parts = [(even, 0, 8), (even, 1, 8), (odd, 0, 4), (odd, 1, 12)]
        return op.concat([conv(relax.TupleGetItem(split, i), C, inputs=size) for split, i, size in parts], axis=1)

    return graph(body, IMAGE)


@case
def stacked_channels() -> Any:
    """A stack that stays one, as in a shuffle of channels."""

    def body(x: Any) -> Any:
        pair = op.stack([conv(x, C), conv(x, C, kernel=1)], axis=2)
        return conv(op.reshape(pair, relax.ShapeExpr((N, 2 * C, H, W))), C, inputs=2 * C)

    return graph(body, IMAGE)


@case
def masked() -> Any:
    """A choice between two convolutions by a third."""
    zero = relax.const(0.0, "float32")
    return graph(lambda x: conv(op.where(op.greater(conv(x, C), zero), conv(x, C), conv(x, C, kernel=1)), C), IMAGE)


@case
def group_norm() -> Any:
    """Two groups of channels, and every channel alone."""

    def body(x: Any) -> Any:
        gain, shift = (relax.const(np.linspace(low, 1.5, C).astype("float32")) for low in (0.5, -0.5))
        grouped = op.nn.group_norm(conv(x, C), gain, shift, num_groups=2, channel_axis=1, axes=[2, 3])
        return conv(op.nn.instance_norm(conv(grouped, C), gain, shift, channel_axis=1, axes=[2, 3]), C)

    return graph(body, IMAGE)


@case
def squeeze_from_the_end() -> Any:
    """Axes counted from the last, as torch and ONNX write them."""
    return graph(lambda x: op.nn.relu(op.squeeze(op.nn.avg_pool2d(conv(x, 12), (H, W)), axis=[-1, -2])), IMAGE)


@case
def layer_norm_of_image() -> Any:
    """Over channels, rows and columns together."""

    def body(x: Any) -> Any:
        gain, shift = (relax.const(np.linspace(low, 1.5, C * H * W).astype("float32").reshape(C, H, W)) for low in (0.5, -0.5))
        return conv(op.nn.layer_norm(conv(x, C), gain, shift, axes=[1, 2, 3]), C)

    return graph(body, IMAGE)


@case
def one_channel_operand() -> Any:
    """A row for all channels, as a constant of rank 1, and the mean over channels."""

    def body(x: Any) -> Any:
        shifted = op.add(conv(x, C), relax.const(np.linspace(-1, 1, W).astype("float32")))
        return conv(op.subtract(shifted, op.mean(shifted, axis=[1], keepdims=True)), C)

    return graph(body, IMAGE)


@case
def one_element_operand() -> Any:
    """A (1, 1, 1, 1) constant, as exporters write for a scalar, between convolutions."""
    constant = relax.const(np.full((1, 1, 1, 1), 0.25, np.float32))
    return graph(lambda x: conv(op.add(conv(x, C), constant), C), IMAGE)


@case
def broadcast_channels() -> Any:
    return graph(lambda x: op.multiply(op.add(x, bias(C)), bias(C)), IMAGE)


@case
def broadcast_inputs() -> Any:
    return graph(lambda x, y: op.add(x, y), IMAGE, (1, C, 1, W))


@case
def activations() -> Any:
    def body(x: Any) -> Any:
        x = conv(x, C)
        return op.add(op.add(op.sigmoid(x), op.nn.gelu(x)), op.add(op.nn.silu(x), op.nn.leakyrelu(x, 0.1)))

    return graph(body, IMAGE)


@case
def clip() -> Any:
    return graph(lambda x: op.clip(conv(x, C), -2.0, 2.0), IMAGE)


@case
def clip_imported() -> Any:
    """A clipping as TVM's ONNX importer writes it: PrimFuncs for maximum and minimum."""

    def body(x: Any) -> Any:
        builder = relax.BlockBuilder.current()
        low = builder.emit_te(tvm.topi.maximum, builder.emit(conv(x, C)), relax.const(-3.0, "float32"))
        return conv(builder.emit_te(tvm.topi.minimum, low, relax.const(3.0, "float32")), 12)

    return graph(body, IMAGE)


@case
def batch_norm() -> Any:
    def body(x: Any) -> Any:
        size = (C,)
        generator = np.random.default_rng(3)
        gamma, beta, mean, var = (relax.const(generator.uniform(0.5, 1.5, size).astype("float32")) for _ in range(4))
        return relax.TupleGetItem(op.nn.batch_norm(conv(x, C), gamma, beta, mean, var, axis=1, training=False), 0)

    return graph(body, IMAGE)


@case
def dropout() -> Any:
    return graph(lambda x: relax.TupleGetItem(op.nn.dropout(conv(x, C), 0.5), 0), IMAGE)


# Shapes, reductions, products


@case
def split() -> Any:
    def body(x: Any) -> Any:
        parts = op.split(conv(x, 12), 3, axis=1)
        return op.add(relax.TupleGetItem(parts, 0), relax.TupleGetItem(parts, 2))

    return graph(body, IMAGE)


@case
def concat() -> Any:
    return graph(lambda x, y: op.concat([conv(x, 12), y], axis=1), IMAGE, (N, 6, H, W))


@case
def concat_between_convolutions() -> Any:
    """A concatenation is fused with neither neighbour: a function of its own that reads and writes textures."""

    def body(x: Any) -> Any:
        entry = op.nn.relu(conv(x, C))
        return conv(op.concat([conv(entry, 12), entry], axis=1), 12, inputs=20)

    return graph(body, IMAGE)


@case
def resize_between_convolutions() -> Any:
    def body(x: Any) -> Any:
        return conv(twice_as_large(op.nn.relu(conv(x, C))), 12)

    return graph(body, IMAGE)


@case
def transpose() -> Any:
    return graph(lambda x: op.permute_dims(conv(x, 12), [0, 2, 3, 1]), IMAGE)


@case
def reshape() -> Any:
    return graph(lambda x: op.tanh(op.reshape(conv(x, 12), (N, 3, 4, H * W))), IMAGE)


@case
def strided_slice() -> Any:
    return graph(lambda x: op.strided_slice(conv(x, 12), axes=[2, 3], begin=[1, 0], end=[H, W], strides=[2, 3]), IMAGE)


@case
def pad() -> Any:
    return graph(lambda x: op.nn.pad(conv(x, 12), (0, 0, 0, 0, 1, 2, 3, 0)), IMAGE)


@case
def resize2d() -> Any:
    return graph(lambda x: twice_as_large(conv(x, C)), IMAGE)


@case
def softmax() -> Any:
    return graph(lambda x: op.nn.softmax(x, axis=-1), (5, 37))


@case
def softmax_channels() -> Any:
    return graph(lambda x: op.nn.softmax(conv(x, C), axis=1), IMAGE)


@case
def layer_norm() -> Any:
    return graph(lambda x: op.nn.layer_norm(x, weight(37), weight(37), axes=[-1]), (5, 37))


@case
def mean_and_max() -> Any:
    return graph(lambda x: op.add(op.mean(x, axis=[2, 3]), op.max(x, axis=[2, 3])), IMAGE)


@case
def argmax() -> Any:
    return graph(lambda x: op.argmax(x, axis=1), (5, 37))


@case
def matmul() -> Any:
    return graph(lambda x, y: op.matmul(x, y), (17, 20), (20, 9))


@case
def linear_relu() -> Any:
    return graph(lambda x: op.nn.relu(op.add(op.matmul(x, weight(20, 9)), weight(9))), (5, 20))


@case
def take() -> Any:
    return graph(lambda x: op.take(x, relax.const(np.array([3, 0, 4, 4], "int64")), axis=0), (5, 37))


@case
def where_and_cast() -> Any:
    return graph(lambda x, y: op.where(op.greater(x, y), x, op.astype(op.astype(y, "int32"), "float32")), IMAGE, IMAGE)


# Special sizes


@case
def image_too_wide() -> Any:
    """More columns than an image may have: TVM's Adreno passes fall back to buffers."""
    return graph(lambda x: op.nn.relu(conv(x, 8, kernel=1)), (1, C, 1, 16400))


@case
def symbolic_batch() -> Any:
    return graph(lambda x: op.nn.relu(op.matmul(x, weight(20, 9))), (tvm.tirx.Var("n", "int64"), 20))


@case
def symbolic_batch_conv2d() -> Any:
    return graph(lambda x: op.nn.relu(conv(x, 12)), (tvm.tirx.Var("n", "int64"), C, H, W))


@case
def integers() -> Any:
    return graph(lambda x, y: op.multiply(op.add(x, y), op.maximum(x, y)), IMAGE, IMAGE, dtype="int32")
