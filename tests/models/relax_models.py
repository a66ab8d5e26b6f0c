"""Relax models that between them use everything a host program can hold; written for TVM 0.25 to 0.27."""

from __future__ import annotations

import numpy as np
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from adreno_sim.compiler.tvm_bridge.versions import tensor_type


def one_block(body, *inputs):
    """A module whose "main" returns what `body` makes of these inputs, each a name, a shape and a dtype."""
    variables = [relax.Var(name, tensor_type(shape, dtype)) for name, shape, dtype in inputs]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(*variables)))
        builder.emit_func_output(result)
    return builder.get()


def convolutions():
    """Two convolutions, pooling, a residual: constants, workspaces, textures and layout changes."""
    rng = np.random.default_rng(0)
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 3, 28, 28), "float32"))
    first, second = (relax.const((rng.random(shape) - 0.5).astype("float32")) for shape in ((8, 3, 3, 3), (8, 8, 1, 1)))
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(relax.op.nn.relu(builder.emit(relax.op.nn.conv2d(x, first, padding=1))))
            b = builder.emit(relax.op.nn.max_pool2d(a, (2, 2), (2, 2)))
            c = builder.emit(relax.op.nn.conv2d(b, second))
            result = builder.emit_output(builder.emit(relax.op.add(c, b)))
        builder.emit_func_output(result)
    return builder.get()


def symbolic():
    """A batch size known at run time only: shape functions, scalar arguments, reshape as an alias, a tuple of results."""
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x, y = (relax.Var(name, R.Tensor((n, 4), "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            total = builder.emit(relax.op.add(x, y))
            flat = builder.emit(relax.op.exp(builder.emit(relax.op.reshape(total, (n * 4,)))))
            rows = builder.emit(relax.op.sum(x, axis=1))
            both = builder.emit(relax.op.concat([total, x], axis=0))
            result = builder.emit_output(relax.Tuple([flat, rows, both]))
        builder.emit_func_output(result)
    return builder.get()


@I.ir_module
class Choice:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        if c:
            y = R.add(x, x)
        else:
            z = R.exp(x)
            y = R.multiply(z, x)
        return y


@I.ir_module
class InnerTexture:
    """A scheduled PrimFunc of two kernels that hand each other a texture which the function itself allocates."""

    @T.prim_func(private=True, s_tir=True)
    def f(
        x: T.Buffer((T.int64(8), T.int64(16), T.int64(4)), "float32"),
        y: T.Buffer((T.int64(8), T.int64(16), T.int64(4)), "float32"),
    ):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        t = T.sblock_alloc_buffer((T.int64(8), T.int64(16), T.int64(4)), scope="global.texture")
        for i in T.thread_binding(T.int64(8), thread="blockIdx.x"):
            for j in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                for k in T.vectorized(T.int64(4)):
                    with T.sblock("fill"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        t[vi, vj, vk] = x[vi, vj, vk] + T.float32(1)
        for i in T.thread_binding(T.int64(8), thread="blockIdx.x"):
            for j in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                for k in T.vectorized(T.int64(4)):
                    with T.sblock("use"):
                        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                        y[vi, vj, vk] = t[vi, vj, vk] * T.float32(2)

    @R.function
    def main(x: R.Tensor((8, 16, 4), "float32")) -> R.Tensor((8, 16, 4), "float32"):
        cls = InnerTexture
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), R.Tensor((8, 16, 4), "float32"))
            R.output(y)
        return y


def mobilenet(size: int = 32, classes: int = 10, dtype: str = "float32", blocks: int = 3):
    """MobileNet's kind of network: a strided convolution, inverted residuals around depthwise convolutions, a classifier.

    dtype: of all its tensors. blocks: how many of its three inverted residuals it has.
    """
    op, nn = relax.op, relax.op.nn
    sizes = ((8, 12, 2), (12, 12, 1), (12, 16, 2))[:blocks]
    channels = sizes[-1][1]

    def weight(*shape: int):
        values = np.random.default_rng(shape).standard_normal(shape) * np.sqrt(2 / max(1, np.prod(shape[1:])))
        return relax.const(values.astype(dtype))

    def block(x, inputs: int, outputs: int, stride: int):
        wide = nn.relu(nn.conv2d(x, weight(2 * inputs, inputs, 1, 1)))
        deep = nn.conv2d(wide, weight(2 * inputs, 1, 3, 3), strides=stride, padding=1, groups=2 * inputs)
        narrow = nn.conv2d(nn.relu(deep), weight(outputs, 2 * inputs, 1, 1))
        return op.add(x, narrow) if (inputs, stride) == (outputs, 1) else narrow

    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 3, size, size), dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = nn.relu(nn.conv2d(x, weight(8, 3, 3, 3), strides=2, padding=1))
            for inputs, outputs, stride in sizes:
                y = block(y, inputs, outputs, stride)
            pooled = op.reshape(nn.adaptive_avg_pool2d(y, (1, 1)), (1, channels))
            result = builder.emit_output(builder.normalize(op.matmul(pooled, weight(channels, classes))))
        builder.emit_func_output(result)
    return builder.get()


def decoder(tokens: int = 16, width: int = 64, heads: int = 4, layers: int = 2, dtype: str = "float32"):
    """A decoder of language models over a whole prompt: embedding, then RMS norm, rotary attention under a causal mask and a
    gated MLP in each layer, then the scores of its vocabulary of 96. dtype: of all tensors but the token numbers."""
    op, nn = relax.op, relax.op.nn
    size = width // heads
    rng = np.random.default_rng(4)

    def constant(values):
        return relax.const(np.asarray(values).astype(dtype))

    def weight(*shape: int):
        return constant(rng.standard_normal(shape) / np.sqrt(shape[0]))

    def norm(x):
        return nn.rms_norm(x, constant(rng.uniform(0.5, 1.5, width)), axes=-1, epsilon=1e-5)

    angles = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(size // 2) / (size // 2))
    cos, sin = (constant(np.tile(f(angles), 2)[:, None, :]) for f in (np.cos, np.sin))
    mask = constant(np.triu(np.full((tokens, tokens), -30000.0), 1))

    def split_heads(x):
        return op.reshape(x, (tokens, heads, size))

    def rotate(x):
        low, high = (op.strided_slice(x, [2], [start], [start + size // 2]) for start in (0, size // 2))
        return op.add(op.multiply(x, cos), op.multiply(op.concat([op.negative(high), low], -1), sin))

    def attend(x):
        q, k, v = (split_heads(op.matmul(x, weight(width, width))) for _ in range(3))
        q, k, v = (op.permute_dims(y, [1, 0, 2]) for y in (rotate(q), rotate(k), v))
        scores = op.multiply(op.matmul(q, op.permute_dims(k, [0, 2, 1])), constant(size**-0.5))
        mixed = op.matmul(nn.softmax(op.add(scores, mask), -1), v)
        return op.matmul(op.reshape(op.permute_dims(mixed, [1, 0, 2]), (tokens, width)), weight(width, width))

    def feed_forward(x):
        gate, up = (op.matmul(x, weight(width, 2 * width)) for _ in range(2))
        return op.matmul(op.multiply(nn.silu(gate), up), weight(2 * width, width))

    builder = relax.BlockBuilder()
    numbers = relax.Var("tokens", R.Tensor((tokens,), "int32"))
    with builder.function("main", [numbers]):
        with builder.dataflow():
            x = builder.emit(op.take(constant(rng.standard_normal((96, width))), numbers, axis=0))
            for _ in range(layers):
                x = builder.emit(op.add(x, attend(builder.emit(norm(x)))))
                x = builder.emit(op.add(x, feed_forward(builder.emit(norm(x)))))
            result = builder.emit_output(op.matmul(norm(x), weight(width, 96)))
        builder.emit_func_output(result)
    return builder.get()
