"""The smallest models that show each defect: Relax modules with seeded weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tvm_bridge.versions import import_tvm, tensor_type

IMAGE = (1, 8, 9, 7)
"""No multiple of a work-group, two channel blocks."""

Body = Callable[..., Any]


def module(body: Body, shape: tuple[int, ...] = IMAGE, dtype: str = "float32") -> Any:
    """An IRModule whose main computes `body` of one input."""
    relax = import_tvm().relax
    x = relax.Var("x", tensor_type(shape, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(x)))
        builder.emit_func_output(result)
    return builder.get()


def weight(*shape: int, dtype: str = "float32") -> Any:
    """A constant of normal values, scaled by the fan-in."""
    values = np.random.default_rng(shape).standard_normal(shape) / np.sqrt(max(1.0, float(np.prod(shape[1:]))))
    return import_tvm().relax.const(values.astype(dtype))


def conv(x: Any, outputs: int = 8, inputs: int = 8, kernel: int = 3, groups: int = 1, dtype: str = "float32") -> Any:
    weights = weight(outputs, inputs // groups, kernel, kernel, dtype=dtype)
    return import_tvm().relax.op.nn.conv2d(x, weights, padding=kernel // 2, groups=groups)


def _ops() -> Any:
    return import_tvm().relax.op


def convolution() -> Any:
    return module(lambda x: _ops().nn.relu(conv(x, 12)))


def pooling() -> Any:
    return module(lambda x: _ops().nn.max_pool2d(conv(x), (2, 2), strides=(2, 2)))


def average_pooling() -> Any:
    return module(lambda x: _ops().nn.avg_pool2d(conv(x), (2, 2), strides=(2, 2)))


def mean_in_texture() -> Any:
    """A gate whose input is a mean over the image that stays in a texture."""

    def body(x: Any) -> Any:
        entry = _ops().nn.relu(conv(x))
        gate = conv(_ops().mean(entry, axis=[2, 3], keepdims=True), kernel=1)
        return conv(_ops().multiply(entry, gate))

    return module(body)


def squeeze_and_excite() -> Any:
    def body(x: Any) -> Any:
        entry = _ops().nn.relu(conv(x))
        gate = _ops().sigmoid(conv(_ops().nn.adaptive_avg_pool2d(entry, (1, 1)), kernel=1))
        return _ops().multiply(entry, gate)

    return module(body)


def blocked_reduction() -> Any:
    return module(lambda x: _ops().add(conv(x, 18, 10, kernel=1, groups=2), weight(1, 18, 1, 1)), (1, 10, 14, 14))


def blocked_row() -> Any:
    """A convolution of groups over one pixel: each result is the sum of a part of a row."""
    return module(lambda x: conv(x, 6, kernel=1, groups=2), (2, 8, 1, 1))


def blocked_rest() -> Any:
    """Rows of a transposed convolution in blocks of two, whose last has one."""
    return module(lambda x: _ops().nn.conv2d_transpose(x, weight(3, 1, 1, 1), strides=2), (2, 3, 6, 1))


def mean_of_all() -> Any:
    """A mean over a whole tensor, and an activation."""
    return module(lambda x: _ops().nn.relu(_ops().mean(x)), (4, 5))


def one_channel_convolution() -> Any:
    """A 1x1 convolution of one channel, and a bias."""
    return module(lambda x: _ops().add(conv(x, inputs=1, kernel=1), weight(1, 8, 1, 1)), (1, 1, 9, 7))


def padded_convolution() -> Any:
    """A convolution of 40 KB whose result is padded in the same function."""
    return module(lambda x: _ops().nn.pad(conv(x, 24), [0, 0, 0, 0, 0, 1, 0, 1]), (1, 8, 21, 21))


def scatter() -> Any:
    """Rows of an image replaced by those of a constant."""
    relax = import_tvm().relax
    places = relax.const(np.full((1, 8, 2, 7), [[1], [3]], np.int64))
    return module(lambda x: _ops().scatter_elements(x, places, weight(1, 8, 2, 7), axis=2))


def arctangent() -> Any:
    return module(lambda x: _ops().atan(x))


def depthwise() -> Any:
    return module(lambda x: conv(conv(x), groups=8))


def uneven_groups() -> Any:
    """Two groups of six channels: a texel holds channels of both."""
    return module(lambda x: conv(conv(x, 12), 12, 12, groups=2))


def half() -> Any:
    return module(lambda x: _ops().nn.relu(conv(x, 12, kernel=1, dtype="float16")), dtype="float16")


def transposed() -> Any:
    return module(lambda x: _ops().nn.conv2d_transpose(conv(x), weight(8, 12, 2, 2), strides=2))


def dropout() -> Any:
    return module(lambda x: import_tvm().relax.TupleGetItem(_ops().nn.dropout(conv(x), 0.5), 0))


def unnamed_function() -> Any:
    """A function that TVM names after the Python lambda that made it."""
    tvm = import_tvm()
    builder = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tensor_type(IMAGE, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.call_te(lambda a: tvm.topi.multiply(a, 2.0), x))
        builder.emit_func_output(result)
    return builder.get()


def stacked_sum() -> Any:
    """Two convolutions added as TVM imports ONNX's Sum."""
    return module(lambda x: _ops().nn.relu(_ops().sum(_ops().stack([conv(x), conv(x, kernel=1)], axis=0), axis=[0])))


def one_element() -> Any:
    constant = np.full((1, 1, 1, 1), 0.25, np.float32)
    return module(lambda x: _ops().add(conv(x), import_tvm().relax.const(constant)))


def private_function() -> Any:
    """A convolution in a separate function."""
    relax = import_tvm().relax
    builder = relax.BlockBuilder()
    inner, outer = (relax.Var("x", tensor_type(IMAGE, "float32")) for _ in range(2))
    with builder.function("block", [inner], private=True):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(conv(inner)))
        builder.emit_func_output(result)
    block = builder.get().get_global_var("block")
    with builder.function("main", [outer]):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(_ops().nn.relu(builder.emit(relax.Call(block, [outer])))))
        builder.emit_func_output(result)
    return builder.get()


def branches() -> Any:
    """Two branches with intermediate tensors, and more of them after both."""
    relax = import_tvm().relax
    builder = relax.BlockBuilder()
    condition, x = relax.Var("condition", tensor_type((), "bool")), relax.Var("x", tensor_type((16, 16), "float32"))

    def chain(value: Any) -> Any:
        scores = _ops().nn.softmax(value)
        return _ops().matmul(_ops().matmul(scores, value), _ops().nn.softmax(value, axis=0))

    with builder.function("main", [condition, x]):
        either = builder.emit(relax.If(condition, chain(x), chain(_ops().matmul(x, x))))
        builder.emit_func_output(builder.emit(_ops().add(chain(either), x)))
    return builder.get()


def two_concatenations() -> Any:
    """Two concatenations of the same shapes: convolutions read the one, a pooling the other."""

    def body(x: Any) -> Any:
        first = _ops().concat([conv(x), conv(x, kernel=1)], axis=1)
        middle = _ops().add(conv(first, 8, 16), conv(first, 8, 16, kernel=1))
        second = _ops().concat([conv(middle), conv(middle, kernel=1)], axis=1)
        return _ops().nn.avg_pool2d(second, (3, 3), padding=1)

    return module(body)


def residual() -> Any:
    """Several textures live at once."""

    def body(x: Any) -> Any:
        entry = _ops().nn.relu(conv(x))
        return _ops().nn.relu(_ops().add(conv(_ops().nn.relu(conv(entry))), entry))

    return module(body)


def split_channels() -> Any:
    """A split at a channel number between convolutions, as ONNX's Split is imported."""

    def body(x: Any) -> Any:
        parts = _ops().split(conv(x, 8), [4], axis=1)
        relax = import_tvm().relax
        return _ops().add(conv(relax.TupleGetItem(parts, 0), 8, 4), conv(relax.TupleGetItem(parts, 1), 8, 4))

    return module(body)


def stacked_channels() -> Any:
    """Two convolutions stacked, as in a shuffle of channels."""
    return module(lambda x: _ops().stack([conv(x), conv(x, kernel=1)], axis=2))


def masked() -> Any:
    """A choice between two convolutions by the sign of a third."""
    zero = import_tvm().relax.const(0.0, "float32")
    return module(lambda x: _ops().where(_ops().greater(conv(x), zero), conv(x), conv(x, kernel=1)))


def last_squeeze() -> Any:
    """The last axis of a pooled convolution taken away, counted from the end."""
    return module(lambda x: _ops().squeeze(_ops().nn.adaptive_avg_pool2d(conv(x), (1, 1)), axis=[-1]))


def one_channel() -> Any:
    """A convolution plus a row that all of its channels take."""
    row = import_tvm().relax.const(np.ones((1, 1, 1, 7), np.float32))
    return module(lambda x: _ops().add(conv(x), row))


def instance_norm() -> Any:
    """Every channel of a convolution normalised alone."""
    ones = import_tvm().relax.const(np.ones(8, np.float32))
    return module(lambda x: _ops().nn.instance_norm(conv(x), ones, ones, channel_axis=1, axes=[2, 3]))


def largest_values() -> Any:
    """The five largest values of each row, and where they are."""
    return module(lambda x: _ops().topk(x, k=5, axis=1), (3, 40))


def causal_mask() -> Any:
    """A row of -inf above the diagonal, added: as PyTorch's models write a causal mask."""

    def body(x: Any) -> Any:
        shape, value = import_tvm().relax.ShapeExpr([8, 8]), import_tvm().relax.const(float("-inf"), "float32")
        return _ops().add(x, _ops().triu(_ops().full(shape, value, "float32"), 1))

    return module(body, (8, 8))


def exclusive_sums() -> Any:
    """The sum of what lies before each element of a row."""
    return module(lambda x: _ops().cumsum(x, axis=1, exclusive=True), (3, 40))


def column_by_hand() -> Any:
    """A PrimFunc whose column is one int32 wide, which is that of its tensors in int64."""
    tvm = import_tvm()
    text = """
@T.prim_func(private=True, s_tir=True)
def double(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 1), "float32")
    B = T.match_buffer(b, (n, 1), "float32")
    for i in range(n):
        with T.sblock("double"):
            v = T.axis.spatial(n, i)
            B[v, 0] = A[v, 0] * T.float32(2)
"""
    function = tvm.script.from_source(text)
    relax = tvm.relax
    x = relax.Var("x", tensor_type((8, 1), "float32"))
    builder = relax.BlockBuilder()
    double = builder.add_func(function, "double")
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.call_tir(double, [x], out_ty=tensor_type((8, 1), "float32")))
        builder.emit_func_output(result)
    return builder.get()


def state_beside_tensors() -> Any:
    """A function that creates an object of TVM's runtime, and one that takes it, and gives it back beside a tensor."""
    relax = import_tvm().relax
    x, state = relax.Var("x", tensor_type((1, 8), "float32")), relax.Var("state", relax.AnyType())
    builder = relax.BlockBuilder()
    with builder.function("create", []):
        create = relax.call_pure_packed("test.create", ty_args=relax.AnyType())
        builder.emit_func_output(builder.emit(create))
    with builder.function("step", [x, state]):
        with builder.dataflow():
            y = builder.emit(relax.op.add(x, x))
            result = builder.emit_output(relax.Tuple([y, state]))
        builder.emit_func_output(result)
    return builder.get()


def samples() -> Any:
    """A sample of each of two distributions, by two numbers between 0 and 1."""
    const = import_tvm().relax.const
    numbers, rows = const(np.array([[0.3], [0.8]], np.float32)), const(np.array([[0], [1]], np.int64))
    return module(lambda x: _ops().multinomial_from_uniform(_ops().nn.softmax(x), numbers, rows), (2, 40))
