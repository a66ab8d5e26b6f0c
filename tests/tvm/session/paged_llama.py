"""A tiny Llama over a paged KV cache, as `relax.frontend.nn` writes one: grouped queries, rope, SwiGLU, RMSNorm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from race_free_merge import merge_states
from tvm import relax, tirx
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache


@dataclass(frozen=True)
class Sizes:
    hidden: int = 32
    inner: int = 48
    heads: int = 4
    kv_heads: int = 2
    dim: int = 32
    layers: int = 2
    vocabulary: int = 40
    dtype: str = "float32"
    sliding: bool = False


class Attention(nn.Module):
    def __init__(self, s: Sizes):
        self.sizes = s
        self.qkv_proj = nn.Linear(s.hidden, (s.heads + 2 * s.kv_heads) * s.dim, bias=False)
        self.o_proj = nn.Linear(s.heads * s.dim, s.hidden, bias=False)

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
        self.gate_up = nn.Linear(s.hidden, 2 * s.inner, bias=False)
        self.down = nn.Linear(s.inner, s.hidden, bias=False)
        self.before = nn.RMSNorm(s.hidden, -1, 1e-5, bias=False)
        self.after = nn.RMSNorm(s.hidden, -1, 1e-5, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache, layer: int) -> nn.Tensor:
        x = x + self.attention(self.before(x), cache, layer)
        gate, up = nn.op.split(self.gate_up(self.after(x)), 2, axis=-1)
        return x + self.down(nn.op.silu(gate) * up)


class Llama(nn.Module):
    """embed: tokens to hidden; batch_prefill: the logits at `ends`; batch_decode: the logits of one token for each sequence."""

    def __init__(self, sizes: Sizes, target: Any):
        self.sizes, self.target = sizes, target
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.blocks = nn.ModuleList([Layer(sizes) for _ in range(sizes.layers)])
        self.norm = nn.RMSNorm(sizes.hidden, -1, 1e-5, bias=False)
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)
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


MERGE = "tir_attention_merge_state"


def mend_merge(module: Any, sizes: Sizes) -> None:
    """TVM's kernel that joins two results of attention has a race, which CPU drivers lose; this one has none."""
    module[MERGE] = merge_states(sizes.heads, sizes.dim, sizes.dtype).with_attr("global_symbol", MERGE)


def export(sizes: Sizes, target: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """The module for a TVM target, and its seeded weights by name."""
    model = Llama(sizes, target)
    cache = nn.spec.Object(object_type=PagedKVCache)
    hidden = nn.spec.Tensor([1, "n", sizes.hidden], sizes.dtype)
    spec = {
        "embed": {"tokens": nn.spec.Tensor([1, "n"], "int32")},
        "batch_prefill": {"x": hidden, "ends": nn.spec.Tensor(["b"], "int32"), "cache": cache},
        "batch_decode": {"x": nn.spec.Tensor(["b", 1, sizes.hidden], sizes.dtype), "cache": cache},
        "create_kv_cache": dict.fromkeys(("batch", "total", "chunk", "page", "sliding"), int),
    }
    for name in spec:
        spec[name]["$"] = {"param_mode": "none" if name == "create_kv_cache" else "plain", "effect_mode": "none"}
    module, params = model.export_tvm(spec)
    rng = np.random.default_rng(3)
    weights = {name: rng.normal(0, 0.3, [int(n) for n in p.shape]).astype(sizes.dtype) for name, p in params}
    return module, weights
