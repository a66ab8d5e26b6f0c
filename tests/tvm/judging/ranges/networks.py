"""Random softmaxes, normalisations and attentions, in halves and floats, over operands up to the ends of their type."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import IRModule, relax
from tvm.script import relax as R

nn, op = relax.op.nn, relax.op
Builder, Expr = relax.BlockBuilder, relax.Expr

HIDDEN = {"float16": (-100.0, -1e4, -65504.0, -np.inf), "float32": (-100.0, -1e4, -3.4e38, -np.inf)}
"""What a mask adds to what it hides."""


@dataclass(frozen=True)
class Case:
    """A network of one operand. words: what it is."""

    module: IRModule
    inputs: list[np.ndarray]
    target: str
    words: str


class Maker:
    """Makes the case of a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.dtype = self.random.choice(["float16", "float32"])
        self.largest = float(np.finfo(self.dtype).max)

    def case(self) -> Case:
        kind = self.random.choice(
            ["softmax", "masked", "chosen", "layer norm", "rms norm", "group norm", "attention", "attention"]
        )
        shape = self._shape(kind)
        scale, spread = self._scale(), self.random.choice(list(SPREADS))
        if kind == "attention":
            scale = min(scale, self._largest_of_products(shape[-1], shape[-2]))
        x = self._of_type(SPREADS[spread](self.numpy, shape) * scale)
        builder, variable = Builder(), relax.Var("x", R.Tensor(shape, self.dtype))
        with builder.function("main", [variable]):
            with builder.dataflow():
                result = builder.emit_output(builder.emit(self._make(kind, builder, variable, shape)))
            builder.emit_func_output(result)
        target = self.random.choice(["buffer", "buffer", "texture"])
        words = f"{kind} of {self.dtype}{list(shape)}, {spread} values of {scale:.2g}, {target}"
        return Case(builder.get(), [x], target, words)

    def _shape(self, kind: str) -> tuple[int, ...]:
        r = self.random
        columns = r.choice([1, 2, 3, 7, 16, 49, 64, 77, 128, 197, r.randrange(2, 300)])
        if kind == "attention":
            return r.choice([1, 2]), r.choice([1, 3, 8, 17, 49]), r.choice([4, 16, 64])
        if kind == "group norm":
            return 1, r.choice([4, 8, 16]), r.choice([1, 5, 8]), r.choice([1, 7, 8])
        return (*(r.choice([1, 2, 5]) for _ in range(r.choice([1, 2]))), r.choice([1, 3, 8]), columns)

    def _scale(self) -> float:
        """From the least normal number to the largest, most of them where networks are or near an end."""
        r = self.random
        limits = np.finfo(self.dtype)
        return r.choice([
            1.0, 1.0, 30.0, 200.0, self.largest / 8, self.largest, float(limits.smallest_normal),
            math.exp(r.uniform(math.log(float(limits.smallest_normal)), math.log(self.largest))),
        ])  # fmt: skip

    def _largest_of_products(self, width: int, length: int) -> float:
        """Up to which operands no sum of an attention overflows, in whichever order: of values, or of products of two."""
        of_one = self.largest / (16 * max(width, length))
        return min(of_one, math.sqrt(of_one) / 16)

    def _of_type(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values, -self.largest, self.largest).astype(self.dtype)

    def _constant(self, values: np.ndarray | float) -> relax.Constant:
        return relax.const(np.asarray(values).astype(self.dtype))

    def _make(self, kind: str, b: Builder, x: Expr, shape: tuple[int, ...]) -> Expr:
        if kind == "attention":
            return self._attention(b, x, shape)
        if "norm" in kind:
            return self._norm(kind, x, shape)
        axis = -1 if self.random.random() < 0.8 else self.random.randrange(len(shape))
        softmax = nn.log_softmax if self.random.random() < 0.2 else nn.softmax
        if kind == "softmax":
            return softmax(x, axis)
        return softmax(b.emit(self._masked(kind, x, shape)), axis)

    def _masked(self, kind: str, x: Expr, shape: tuple[int, ...]) -> Expr:
        """No row is hidden whole: that has no value."""
        hidden = self.numpy.random(shape) < self.random.choice([0.1, 0.5, 0.9])
        hidden[..., self.random.randrange(shape[-1])] = False
        fill = self.random.choice(HIDDEN[self.dtype])
        if kind == "masked":
            return op.add(x, self._constant(np.where(hidden, fill, 0.0)))
        return op.where(relax.const(~hidden), x, self._constant(fill))

    def _norm(self, kind: str, x: Expr, shape: tuple[int, ...]) -> Expr:
        epsilon = self.random.choice([1e-5, 1e-5, 1e-6, 1e-12, 1e-3])
        count = shape[1] if kind == "group norm" else shape[-1]
        weight = self._constant(self.numpy.standard_normal(count) * self.random.choice([1.0, 10.0, 0.01]))
        bias = self._constant(self.numpy.standard_normal(count))
        if kind == "layer norm":
            return nn.layer_norm(x, weight, bias, axes=-1, epsilon=epsilon)
        if kind == "rms norm":
            return nn.rms_norm(x, weight, axes=-1, epsilon=epsilon)
        return nn.group_norm(
            x, weight, bias, num_groups=self.random.choice([1, 2, 4]), channel_axis=1, axes=[2, 3], epsilon=epsilon
        )

    def _attention(self, b: Builder, x: Expr, shape: tuple[int, ...]) -> Expr:
        _, length, width = shape
        weights = [self.numpy.standard_normal((width, width)) / math.sqrt(width) for _ in range(3)]
        q, k, v = (b.emit(op.matmul(x, self._constant(weight))) for weight in weights)
        scale = self.random.choice([1 / math.sqrt(width), 1.0])
        if self.random.random() < 0.5:
            q = b.emit(op.multiply(q, self._constant(scale)))
            scores = b.emit(op.matmul(q, b.emit(op.permute_dims(k, [0, 2, 1]))))
        else:
            scores = b.emit(op.matmul(q, b.emit(op.permute_dims(k, [0, 2, 1]))))
            scores = b.emit(op.multiply(scores, self._constant(scale)))
        fill = self.random.choice((0.0, *HIDDEN[self.dtype]))
        if fill:
            scores = b.emit(op.add(scores, self._constant(np.triu(np.full((length, length), fill), 1))))
        return op.matmul(b.emit(nn.softmax(scores, -1)), v)


def _with_outlier(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.standard_normal(shape) / 1000
    values.flat[rng.integers(values.size)] = 1
    return values


SPREADS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "normal, once more": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "positive": lambda rng, shape: rng.uniform(0, 1, shape),
    "nearly equal": lambda rng, shape: 1 + rng.standard_normal(shape) / 500,
    "alternating": lambda rng, shape: np.where(np.arange(shape[-1]) % 2, 1.0, -1.0) * (1 + rng.standard_normal(shape) / 50),
    "of all sizes": lambda rng, shape: rng.choice([-1, 1], shape) * np.exp(rng.uniform(-12, 0, shape)),
    "small, with one large": _with_outlier,
}
