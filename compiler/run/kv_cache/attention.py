"""The kernels of one attention over a paged KV cache, in the order and with the arguments of TVM's runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from ....records import dataclass
from .batch import Batch

Role = Literal["append", "ragged", "prefill", "decode", "merge", "rope", "copy"]
"""What a kernel is for: write keys and values to pages; attention among the new tokens; of new tokens to pages, for several
tokens or one token of each sequence; join two results of attention; split and rotate; copy the beginning of a page."""

Call = tuple[Role, tuple[Any, ...]]

NO_ROPE, ROPE_FIRST, ROPE_INSIDE = 0, 1, 2
"""Where positions are rotated in: nowhere, in a kernel before attention, in the kernels of attention."""


@dataclass(frozen=True)
class Rotation:
    mode: int
    scale: float
    theta: float


@dataclass(frozen=True)
class Operands:
    """The tensors of one attention, of T tokens. qkv: [T, heads + 2 * kv_heads, dim]; q, out, other_out: [T, heads, dim]; k, v:
    [T, kv_heads, dim]; sums, other_sums: [T, heads], logarithms of sums of exponentials; pages: those of the layer."""

    qkv: Any
    out: Any
    pages: Any
    q: Any
    k: Any
    v: Any
    other_out: Any
    sums: Any
    other_sums: Any


def attention_calls(batch: Batch, rotation: Rotation, scale: float, on: Operands) -> Iterator[Call]:
    """Every kernel with its arguments, in order. batch: its arrays may be tensors; scale: of the scores."""
    inside = int(rotation.mode == ROPE_INSIDE)
    numbers = (inside, rotation.scale, rotation.theta, scale)
    append: Call = ("append", (on.pages, on.k, on.v, batch.targets))
    yield "rope", (on.qkv, batch.positions, on.q, on.k, on.v, int(rotation.mode == ROPE_FIRST))
    out, sums = on.out, on.sums
    if batch.append_first:
        yield append
    else:
        yield "ragged", (on.q, batch.begins, on.k, on.v, batch.begins, batch.positions, batch.starts, out, sums, 1, *numbers)
    first = batch.append_first
    for depth in batch.depths:
        if 0 in depth.pages.shape:
            continue
        target = (out, sums) if first else (on.other_out, on.other_sums)
        where = (on.pages, depth.pages_begin, depth.pages, depth.lengths, depth.starts, batch.positions, *target)
        if depth.decodes:
            yield "decode", (on.q, *where, *numbers)
        else:
            yield "prefill", (on.q, depth.queries, *where, 0, *numbers)
        if not first:
            yield "merge", (out, sums, on.other_out, on.other_sums)
        first = False
    if not batch.append_first:
        yield append
