"""Operators of the table: convolutions, what is fused into them, and small networks of them."""

from __future__ import annotations

from typing import Any

from operator_table import IMAGE, C, H, N, W, bias, case, conv, graph, op, relax, weight

from adreno_sim.compiler.tvm_bridge.versions import tensor_type

# Convolutions and what is fused into them


@case
def conv2d() -> Any:
    return graph(lambda x: conv(x, 12), IMAGE)


@case
def conv2d_1x1() -> Any:
    return graph(lambda x: conv(x, 12, kernel=1), IMAGE)


@case
def conv2d_of_one_channel() -> Any:
    """A sum of one term, and what follows it."""
    return graph(lambda x: op.nn.relu(op.add(conv(x, 12, kernel=1, inputs=1), bias(12))), (1, 1, H, W))


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


@case
def conv1d_padded_for_the_next() -> Any:
    """A result of 41 KB that is padded where it is made: TVM keeps it in local memory."""
    return graph(lambda x: op.nn.pad(op.nn.conv1d(x, weight(64, 4, 3)), [0, 0, 0, 0, 0, 1]), (1, 4, 163))


@case
def conv1d_padded_in_local_memory() -> Any:
    """A result of 31 KB, which fits."""
    return graph(lambda x: op.nn.pad(op.nn.conv1d(x, weight(64, 4, 3)), [0, 0, 0, 0, 0, 1]), (1, 4, 123))
