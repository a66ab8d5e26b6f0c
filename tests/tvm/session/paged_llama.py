"""A tiny Llama over a paged KV cache, as `relax.frontend.nn` writes one: grouped queries, rope, SwiGLU, RMSNorm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from quantised_layers import QuantisedEmbedding, QuantisedLinear, draw_weight
from tvm import relax, te, tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache


@dataclass(frozen=True)
class Sizes:
    hidden: int = 32
    inner: int = 64
    heads: int = 4
    kv_heads: int = 2
    dim: int = 32
    layers: int = 2
    vocabulary: int = 40
    dtype: str = "float32"
    quantised: bool = True
    tied: bool = False
    """The embedding is the last layer too."""


LLAMA_1B = Sizes(2048, 8192, 32, 8, 64, 16, 128256, "float16", True, True)
LLAMA_8B = Sizes(4096, 14336, 32, 8, 128, 32, 128256, "float16", True, False)
"""As Llama 3.2 1B and Llama 3.1 8B."""


def linear(s: Sizes, inputs: int, outputs: int) -> Any:
    return QuantisedLinear(inputs, outputs, s.dtype, fused=True) if s.quantised else nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    def __init__(self, s: Sizes):
        self.sizes = s
        self.qkv_proj = linear(s, s.hidden, (s.heads + 2 * s.kv_heads) * s.dim)
        self.o_proj = linear(s, s.heads * s.dim, s.hidden)

    def forward(self, x: nn.Tensor, cache: PagedKVCache, layer: int) -> nn.Tensor:
        s = self.sizes
        batch, length, _ = x.shape
        qkv = nn.op.reshape(self.qkv_proj(x), (batch, length, s.heads + 2 * s.kv_heads, s.dim))
        out = cache.attention_with_fused_qkv(layer, qkv, s.heads, sm_scale=s.dim**-0.5)
        return self.o_proj(nn.op.reshape(out, (batch, length, s.heads * s.dim)))


class Layer(nn.Module):
    def __init__(self, s: Sizes):
        self.inner = s.inner
        self.attention = Attention(s)
        self.gate_up = linear(s, s.hidden, 2 * s.inner)
        self.down = linear(s, s.inner, s.hidden)
        self.before = nn.RMSNorm(s.hidden, -1, 1e-5, bias=False)
        self.after = nn.RMSNorm(s.hidden, -1, 1e-5, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache, layer: int) -> nn.Tensor:
        x = x + self.attention(self.before(x), cache, layer)
        gate, up = nn.op.split(self.gate_up(self.after(x)), 2, axis=-1)
        return x + self.down(nn.op.silu(gate) * up)


class Llama(nn.Module):
    """embed: tokens to hidden; batch_prefill: the logits at `ends`; batch_decode: the logits of one token for each sequence.

    prefill, decode: the same of one sequence, as phones run it.
    """

    def __init__(self, sizes: Sizes, target: Any):
        self.sizes, self.target = sizes, target
        plain = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.embedding = QuantisedEmbedding(sizes.vocabulary, sizes.hidden, sizes.dtype, fused=True) if sizes.quantised else plain
        self.blocks = nn.ModuleList([Layer(sizes) for _ in range(sizes.layers)])
        self.norm = nn.RMSNorm(sizes.hidden, -1, 1e-5, bias=False)
        self.head = self.embedding.apply if sizes.tied else linear(sizes, sizes.hidden, sizes.vocabulary)
        self.to(sizes.dtype)

    def hidden(self, x: nn.Tensor, cache: PagedKVCache) -> nn.Tensor:
        for number, block in enumerate(self.blocks):
            x = block(x, cache, number)
        return self.norm(x)

    def embed(self, tokens: nn.Tensor) -> nn.Tensor:
        return self.embedding(tokens)

    def batch_prefill(self, x: nn.Tensor, ends: nn.Tensor, cache: PagedKVCache):
        return self.head(nn.op.take(self.hidden(x, cache), ends, axis=1)).astype("float32"), cache

    def batch_decode(self, x: nn.Tensor, cache: PagedKVCache):
        return self.head(self.hidden(x, cache)).astype("float32"), cache

    def prefill(self, x: nn.Tensor, cache: PagedKVCache):
        def last(t: te.Tensor) -> te.Tensor:
            return te.compute((1, 1, t.shape[2]), lambda b, _, j: t[b, t.shape[1] - 1, j], "last")

        return self.head(nn.op.tensor_expr_op(last, "last", [self.hidden(x, cache)])).astype("float32"), cache

    def decode(self, x: nn.Tensor, cache: PagedKVCache):
        return self.batch_decode(x, cache)

    def create_kv_cache(self, batch: tirx.Var, total: tirx.Var, chunk: tirx.Var, page: tirx.Var, sliding: tirx.Var):
        s = self.sizes
        return TIRPagedKVCache(
            attn_kind="mha", max_batch_size=batch, max_total_seq_len=total, prefill_chunk_size=chunk, page_size=page,
            support_sliding_window=sliding, layer_partition=relax.ShapeExpr([0, s.layers]), num_hidden_layers=s.layers,
            num_attention_heads=s.heads, num_key_value_heads=s.kv_heads, qk_head_dim=s.dim, v_head_dim=s.dim,
            mla_original_qk_head_dim=0, mla_original_v_head_dim=0, rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000,
            rope_scaling={}, rope_ext_factors=relax.prim_value(0), rotary_dim=s.dim, enable_disaggregation=False,
            dtype=s.dtype, target=self.target,
        )  # fmt: skip


def export(sizes: Sizes, target: Any, draw: bool = True, single: bool = False) -> tuple[Any, dict[str, np.ndarray]]:
    """The module for a TVM target, and its seeded weights by name (draw: none without).

    single: for one sequence, prefill and decode in place of batch_prefill and batch_decode.
    """
    model = Llama(sizes, target)
    cache = nn.spec.Object(object_type=PagedKVCache)
    hidden = nn.spec.Tensor([1, "n", sizes.hidden], sizes.dtype)
    spec = {
        "embed": {"tokens": nn.spec.Tensor([1, "n"], "int32")},
        "batch_prefill": {"x": hidden, "ends": nn.spec.Tensor(["b"], "int32"), "cache": cache},
        "batch_decode": {"x": nn.spec.Tensor(["b", 1, sizes.hidden], sizes.dtype), "cache": cache},
        "prefill": {"x": hidden, "cache": cache},
        "decode": {"x": nn.spec.Tensor([1, 1, sizes.hidden], sizes.dtype), "cache": cache},
        "create_kv_cache": dict.fromkeys(("batch", "total", "chunk", "page", "sliding"), int),
    }
    for name in ("batch_prefill", "batch_decode") if single else ("prefill", "decode"):
        del spec[name]
    for name in spec:
        spec[name]["$"] = {"param_mode": "none" if name == "create_kv_cache" else "plain", "effect_mode": "none"}
    module, params = model.export_tvm(spec)
    rng = np.random.default_rng(3)
    weights = {}
    if draw:
        for name, p in params:
            weights[name] = draw_weight(name, [int(n) for n in p.shape], p.dtype, rng)
    return module, weights
