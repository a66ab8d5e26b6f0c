"""A tiny Llama as `relax.frontend.nn` exports it: grouped heads, rotary embedding, SwiGLU, RMSNorm; plain or q4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from quantised_layers import QuantisedLinear, draw_weight
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op


@dataclass(frozen=True)
class Config:
    """dtype: of weights and tensors. quantised: weights of the layers are nibbles, as q4f16."""

    dtype: str = "float16"
    quantised: bool = False
    hidden: int = 64
    inner: int = 128
    heads: int = 4
    kv_heads: int = 2
    layers: int = 2
    vocabulary: int = 96

    @property
    def dim(self) -> int:
        return self.hidden // self.heads


def linear(config: Config, inputs: int, outputs: int) -> Any:
    if config.quantised:
        return QuantisedLinear(inputs, outputs, config.dtype)
    return nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    def __init__(self, config: Config):
        self.config = config
        self.qkv = linear(config, config.hidden, (config.heads + 2 * config.kv_heads) * config.dim)
        self.out = linear(config, config.hidden, config.hidden)

    def forward(self, x: Any, cos: Any, sin: Any, mask: Any, past: Any = None) -> Any:
        """Over x (1, rows, hidden), and the keys and values of `past` rows before it; also those of all rows."""
        c = self.config
        rows = x.shape[1]
        qkv = op.reshape(self.qkv(x), (1, rows, c.heads + 2 * c.kv_heads, c.dim))
        q, k, v = op.split(qkv, [c.heads, c.heads + c.kv_heads], axis=2)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        if past is not None:
            k, v = op.concat([past[0], k], dim=1), op.concat([past[1], v], dim=1)
        keys, values = (op.repeat(t, c.heads // c.kv_heads, axis=2) for t in (k, v))
        q, keys, values = (op.permute_dims(t, [0, 2, 1, 3]) for t in (q, keys, values))
        scores = op.matmul(q, op.permute_dims(keys, [0, 1, 3, 2])) * (c.dim**-0.5)
        weights = op.softmax(op.astype(scores, "float32") + mask, axis=-1)
        mixed = op.permute_dims(op.matmul(op.astype(weights, c.dtype), values), [0, 2, 1, 3])
        return self.out(op.reshape(mixed, (1, rows, c.hidden))), k, v

    def rotate(self, x: Any, cos: Any, sin: Any) -> Any:
        first, second = op.split(x, 2, axis=3)
        return x * cos + op.concat([op.negative(second), first], dim=3) * sin


class Layer(nn.Module):
    def __init__(self, config: Config):
        self.attention = Attention(config)
        self.before, self.after = (nn.RMSNorm(config.hidden, -1, 1e-5, bias=False) for _ in range(2))
        self.gate = linear(config, config.hidden, 2 * config.inner)
        self.down = linear(config, config.inner, config.hidden)

    def forward(self, x: Any, cos: Any, sin: Any, mask: Any, past: Any = None) -> Any:
        mixed, k, v = self.attention(self.before(x), cos, sin, mask, past)
        x = x + mixed
        gate, up = op.split(self.gate(self.after(x)), 2, axis=-1)
        return x + self.down(op.silu(gate) * up), k, v


class TinyLlama(nn.Module):
    """prefill: logits of the last row, and keys and values of each layer. decode: the same of one row after `past` ones."""

    def __init__(self, config: Config):
        self.embedding = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = nn.ModuleList([Layer(config) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.hidden, -1, 1e-5, bias=False)
        self.head = nn.Linear(config.hidden, config.vocabulary, bias=False)

    def prefill(self, tokens: Any, cos: Any, sin: Any, mask: Any) -> Any:
        return self._run(tokens, cos, sin, mask, [None] * len(list(self.layers)))

    def decode(self, tokens: Any, cos: Any, sin: Any, mask: Any, k0: Any, v0: Any, k1: Any, v1: Any) -> Any:
        return self._run(tokens, cos, sin, mask, [(k0, v0), (k1, v1)])

    def _run(self, tokens: Any, cos: Any, sin: Any, mask: Any, past: list[Any]) -> Any:
        x, state = self.embedding(tokens), []
        for layer, before in zip(self.layers, past, strict=True):
            x, k, v = layer(x, cos, sin, mask, before)
            state += [k, v]
        return self.head(self.norm(x)), *state


def export(config: Config) -> Any:
    """The module with entries prefill (n rows) and decode (one row after n)."""
    model = TinyLlama(config)
    model.to(config.dtype)

    def angles(rows: Any) -> list[Any]:
        return [nn.spec.Tensor([1, rows, 1, config.dim], config.dtype) for _ in range(2)]

    past = nn.spec.Tensor([1, "n", config.kv_heads, config.dim], config.dtype)
    spec = {
        "prefill": dict(zip(("tokens", "cos", "sin", "mask"), (
            nn.spec.Tensor([1, "n"], "int32"), *angles("n"), nn.spec.Tensor([1, 1, "n", "n"], "float32")), strict=True)),
        "decode": dict(zip(("tokens", "cos", "sin", "mask", "k0", "v0", "k1", "v1"), (
            nn.spec.Tensor([1, 1], "int32"), *angles(1), nn.spec.Tensor([1, 1, 1, 1], "float32"), past, past, past, past),
            strict=True)),
    }  # fmt: skip
    module, _ = model.export_tvm(spec)
    return module


def inputs(config: Config, entry: str, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of an entry by name, but for the weights: a prompt of `rows`, or one row after `rows` others."""
    rng = np.random.default_rng(seed)
    positions = np.arange(rows) if entry == "prefill" else np.array([rows])
    angle = positions[:, None] * 10000.0 ** (-np.arange(config.dim // 2) / (config.dim // 2))
    angle = np.concatenate([angle, angle], axis=1)[None, :, None]
    found = {"tokens": rng.integers(0, config.vocabulary, (1, len(positions))).astype("int32")}
    found |= {"cos": np.cos(angle).astype(config.dtype), "sin": np.sin(angle).astype(config.dtype)}
    if entry == "prefill":
        found["mask"] = np.triu(np.full((rows, rows), -1e9, "float32"), 1)[None, None]
        return found
    found["mask"] = np.zeros((1, 1, 1, 1), "float32")
    shape = (1, rows, config.kv_heads, config.dim)
    return found | {name: rng.standard_normal(shape).astype(config.dtype) for name in ("k0", "v0", "k1", "v1")}


def weights(module: Any, entry: str, given: dict[str, np.ndarray], seed: int = 1) -> dict[str, np.ndarray]:
    """Seeded weights of an entry by name, scaled by what they are summed over."""
    from adreno_sim.compiler.importers.load import load_model

    rng = np.random.default_rng(seed)
    found = {}
    for item in load_model(module, entry=entry).inputs:
        if item.name in given:
            continue
        found[item.name] = draw_weight(item.name, [int(size) for size in item.shape], item.dtype, rng)
    return found
