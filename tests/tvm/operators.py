"""The operator table: small Relax graphs, each by name, that together cover what TVM's Adreno pipelines emit.

Shapes are small but never a multiple of the work-group size, with several channel blocks, so that guards and layouts
matter. Weights come from a fixed seed and are scaled so that no result saturates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tensor_type

tvm = import_tvm()
relax = tvm.relax
op = relax.op

Builder = Callable[[], Any]
OPERATORS: dict[str, Builder] = {}

N, C, H, W = 1, 8, 13, 11
IMAGE = (N, C, H, W)


def case(build: Builder) -> Builder:
    """Enter a builder into the table under its function's name."""
    OPERATORS[build.__name__] = build
    return build


def graph(body: Callable[..., Any], *shapes: tuple[Any, ...], dtype: str = "float32") -> Any:
    """An IRModule whose "main" takes x0, x1, ... of these shapes and returns what `body` makes of them."""
    params = [relax.Var(f"x{i}", tensor_type(shape, dtype)) for i, shape in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(*params)))
        builder.emit_func_output(result)
    return builder.get()


def weight(*shape: int, dtype: str = "float32", gain: float = 1.0) -> Any:
    """A constant of normal values, scaled by the fan-in."""
    generator = np.random.default_rng(shape)
    scale = gain / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else gain
    return relax.const((generator.standard_normal(shape) * scale).astype(dtype))


def conv(x: Any, out: int, kernel: int = 3, inputs: int = C, **attributes: Any) -> Any:
    """A convolution with constant weights; padding keeps the size unless given."""
    attributes.setdefault("padding", kernel // 2)
    return op.nn.conv2d(x, weight(out, inputs, kernel, kernel), **attributes)


def bias(channels: int) -> Any:
    """A constant to add along the channel axis."""
    return weight(1, channels, 1, 1)


def twice_as_large(x: Any) -> Any:
    """An H x W image doubled by repeating its pixels."""
    return op.image.resize2d(
        x, relax.ShapeExpr((2 * H, 2 * W)), layout="NCHW", method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric", rounding_method="floor",
    )  # fmt: skip


# Convolutions and what is fused into them


@case
def conv2d() -> Any:
    return graph(lambda x: conv(x, 12), IMAGE)


@case
def conv2d_1x1() -> Any:
    return graph(lambda x: conv(x, 12, kernel=1), IMAGE)


@case
def conv2d_strided() -> Any:
    return graph(lambda x: conv(x, 12, strides=2, padding=1), IMAGE)


@case
def conv2d_dilated() -> Any:
    return graph(lambda x: conv(x, 12, dilation=2, padding=2), IMAGE)


@case
def conv2d_asymmetric() -> Any:
    return graph(lambda x: op.nn.conv2d(x, weight(12, C, 1, 5), padding=(0, 1, 0, 3)), IMAGE)


@case
def conv2d_three_channels() -> Any:
    """Three input channels do not fill a texel: the layer stays in NCHW."""
    return graph(lambda x: conv(conv(x, C, inputs=3), 12), (1, 3, H, W))


@case
def conv2d_relu() -> Any:
    return graph(lambda x: op.nn.relu(conv(x, 12)), IMAGE)


@case
def conv2d_bias_relu() -> Any:
    return graph(lambda x: op.nn.relu(op.add(conv(x, 12), bias(12))), IMAGE)


@case
def conv2d_tanh() -> Any:
    return graph(lambda x: op.tanh(conv(x, 12)), IMAGE)


@case
def conv2d_add() -> Any:
    return graph(lambda x, y: op.add(conv(x, 12), y), IMAGE, (N, 12, H, W))


@case
def conv2d_sum_all() -> Any:
    return graph(lambda x: op.sum(conv(x, 12)), IMAGE)


@case
def conv2d_sum_axis() -> Any:
    return graph(lambda x: op.sum(conv(x, 12), axis=1), IMAGE)


@case
def conv2d_sum_axes_kept() -> Any:
    return graph(lambda x: op.sum(conv(x, 12), axis=[2, -1], keepdims=True), IMAGE)


@case
def conv2d_twice() -> Any:
    return graph(lambda x: conv(op.nn.relu(conv(x, 12)), C, inputs=12), IMAGE)


@case
def conv2d_batch() -> Any:
    return graph(lambda x: conv(op.nn.relu(conv(x, 12)), C, inputs=12), (3, C, H, W))


@case
def conv2d_depthwise() -> Any:
    return graph(lambda x: op.nn.conv2d(conv(x, C), weight(C, 1, 3, 3), padding=1, groups=C), IMAGE)


@case
def conv2d_grouped() -> Any:
    return graph(lambda x: op.nn.conv2d(conv(x, C), weight(C, C // 2, 3, 3), padding=1, groups=2), IMAGE)


@case
def conv2d_blocks() -> Any:
    """Groups of a 1x1 convolution on channels that fill no texels: TVM's generic reduction schedule takes it."""
    return graph(lambda x: op.add(op.nn.conv2d(x, weight(18, 5, 1, 1), groups=2), bias(18)), (1, 10, 14, 14))


@case
def conv2d_grouped_uneven() -> Any:
    """Two groups of six channels: a texel holds channels of both."""
    return graph(lambda x: op.nn.conv2d(conv(x, 12), weight(12, 6, 3, 3), padding=1, groups=2), IMAGE)


@case
def conv2d_depthwise_multiplied() -> Any:
    """Two results per channel, strided, dilated, in a batch of two."""
    attributes = {"strides": (2, 1), "dilation": (1, 2), "padding": (1, 2), "groups": C}
    return graph(lambda x: op.nn.relu(op.nn.conv2d(x, weight(2 * C, 1, 3, 3), **attributes)), (2, C, H, W))


@case
def conv2d_transpose() -> Any:
    return graph(lambda x: op.nn.conv2d_transpose(conv(x, C), weight(C, 12, 2, 2), strides=2), IMAGE)


@case
def conv2d_transpose_between() -> Any:
    """A head of a detector: 3x3 at stride two, grouped, padded on one side; bias and activation on the texels."""

    def body(x: Any) -> Any:
        attributes = {"strides": 2, "padding": 1, "output_padding": 1, "groups": 2}
        up = op.nn.conv2d_transpose(op.nn.relu(conv(x, C)), weight(C, 6, 3, 3), **attributes)
        return conv(op.nn.relu(op.add(up, bias(12))), C, inputs=12)

    return graph(body, IMAGE)


@case
def conv2d_half() -> Any:
    """One by one, because TVM sums in half: over many products two orders of summing differ by more than the tolerance."""
    return graph(lambda x: op.nn.relu(op.nn.conv2d(x, weight(12, C, 1, 1, dtype="float16"))), IMAGE, dtype="float16")


# Blocks of networks


@case
def residual_block() -> Any:
    def body(x: Any) -> Any:
        entry = op.nn.relu(conv(x, C))
        return op.nn.relu(op.add(conv(op.nn.relu(conv(entry, C)), C), entry))

    return graph(body, IMAGE)


@case
def three_branches() -> Any:
    def body(x: Any) -> Any:
        entry = op.nn.relu(conv(x, C))
        branches = [conv(entry, C, kernel=1), conv(entry, 12), op.nn.max_pool2d(entry, (3, 3), padding=(1, 1))]
        return op.concat(branches, axis=1)

    return graph(body, IMAGE)


@case
def two_concatenations() -> Any:
    """One function for both, whose results lie in different scopes: convolutions read the one, a pooling the other."""

    def body(x: Any) -> Any:
        first = op.concat([conv(x, C), conv(x, C, kernel=1)], axis=1)
        middle = op.add(conv(first, C, inputs=2 * C), conv(first, C, kernel=1, inputs=2 * C))
        second = op.concat([conv(middle, C), conv(middle, C, kernel=1)], axis=1)
        return op.nn.avg_pool2d(second, (3, 3), padding=1)

    return graph(body, IMAGE)


@case
def private_function() -> Any:
    """A block that main calls twice, as a function of its own."""
    builder = relax.BlockBuilder()
    inner, outer = (relax.Var("x0", tensor_type(IMAGE, "float32")) for _ in range(2))
    with builder.function("block", [inner], private=True):
        with builder.dataflow():
            result = builder.emit_output(op.nn.relu(builder.emit(op.add(conv(builder.emit(conv(inner, C)), C), inner))))
        builder.emit_func_output(result)
    block = builder.get().get_global_var("block")
    with builder.function("main", [outer]):
        with builder.dataflow():
            first = builder.emit(relax.Call(block, [builder.emit(conv(outer, C))]))
            middle = builder.emit(op.nn.max_pool2d(first, (3, 3), padding=(1, 1)))
            result = builder.emit_output(builder.emit(op.exp(builder.emit(relax.Call(block, [middle])))))
        builder.emit_func_output(result)
    return builder.get()


@case
def squeeze_and_excite() -> Any:
    def body(x: Any) -> Any:
        entry = op.nn.relu(conv(x, C))
        gate = op.sigmoid(conv(op.nn.adaptive_avg_pool2d(entry, (1, 1)), C, kernel=1))
        return op.multiply(entry, gate)

    return graph(body, IMAGE)


@case
def squeeze_by_mean() -> Any:
    """The gate's input is a mean over the image that stays in a texture."""

    def body(x: Any) -> Any:
        entry = op.nn.relu(conv(x, C))
        gate = op.sigmoid(conv(op.mean(entry, axis=[2, 3], keepdims=True), C, kernel=1))
        return conv(op.multiply(entry, gate), C)

    return graph(body, IMAGE)


@case
def classifier() -> Any:
    def body(x: Any) -> Any:
        pooled = op.nn.adaptive_avg_pool2d(op.nn.relu(conv(x, 12)), (1, 1))
        return op.nn.softmax(op.matmul(op.reshape(pooled, (N, 12)), weight(12, 10)))

    return graph(body, IMAGE)


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
def one_element_operand() -> Any:
    """A (1, 1, 1, 1) constant, as exporters write for a scalar."""
    constant = relax.const(np.full((1, 1, 1, 1), 0.25, np.float32))
    return graph(lambda x: op.add(conv(x, C), constant), IMAGE)


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
