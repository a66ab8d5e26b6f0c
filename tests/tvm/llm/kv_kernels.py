"""The kernels of TVM's paged KV cache, each with arguments and with what NumPy computes of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADS, KV_HEADS, LAYERS = 4, 2, 2
THETA = 10000.0


@dataclass(frozen=True)
class Case:
    """A kernel: its PrimFunc, its arguments in order, and a callable as `check_kernel` takes it."""

    function: Any
    args: list[Any]
    expected: Callable[..., list[Any]]


@dataclass(frozen=True)
class Sizes:
    """Of one case. dim: of a head; page: positions of one page."""

    dtype: str = "float16"
    dim: int = 64
    page: int = 16

    @property
    def scale(self) -> float:
        return float(np.float32(self.dim**-0.5))


def _module(name: str) -> Any:
    return importlib.import_module(f"tvm.relax.frontend.nn.llm.{name}")


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Attention of (rows, heads, dim) over (columns, kv heads, dim), and the binary logarithm of each sum of exponentials.

    mask: (rows, columns), True where a row sees a column.
    """
    k, v = (np.repeat(x.astype(np.float64), q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("lhd,mhd->hlm", q.astype(np.float64), k) * (scale * np.log2(np.e))
    scores = np.where(mask, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp2(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    return np.einsum("hlm,mhd->lhd", weights / total, v), (largest + np.log2(total))[..., 0].T


def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Rotary embedding of (positions, heads, dim), halves of a head as pairs."""
    dim = x.shape[-1]
    d = np.arange(dim)
    angle = positions[:, None] / np.power(THETA, (d * 2 % dim) / dim)
    x = x.astype(np.float64)
    turned = np.concatenate([-x[..., dim // 2 :], x[..., : dim // 2]], axis=-1)
    return x * np.cos(angle)[:, None] + turned * np.sin(angle)[:, None]


def causal(rows: int, columns: int) -> np.ndarray:
    return np.arange(columns)[None, :] < columns - rows + np.arange(rows)[:, None] + 1


@dataclass(frozen=True)
class Pages:
    """A cache of two sequences. pages: (pages, K and V, kv heads, positions, dim); table: sequence after sequence."""

    pages: np.ndarray
    indptr: np.ndarray
    table: np.ndarray
    lengths: tuple[int, ...]
    page: int

    @property
    def last(self) -> np.ndarray:
        """Positions used of each sequence's last page."""
        return np.array([(length - 1) % self.page + 1 for length in self.lengths], np.int32)

    def of(self, sequence: int) -> tuple[np.ndarray, np.ndarray]:
        """K and V of a sequence: (positions, kv heads, dim)."""
        mine = self.pages[self.table[self.indptr[sequence] : self.indptr[sequence + 1]]]
        flat = mine.transpose(1, 0, 3, 2, 4).reshape(2, -1, mine.shape[2], mine.shape[4])[:, : self.lengths[sequence]]
        return flat[0], flat[1]


def make_pages(rng: np.random.Generator, sizes: Sizes) -> Pages:
    lengths = (2 * sizes.page + 5, sizes.page - 3)
    counts = [-(-length // sizes.page) for length in lengths]
    total = sum(counts) + 1  # one page that nobody uses
    pages = normal(rng, (total, 2, KV_HEADS, sizes.page, sizes.dim), sizes.dtype)
    table = rng.permutation(total)[: sum(counts)].astype(np.int32)
    return Pages(pages, np.cumsum([0, *counts]).astype(np.int32), table, lengths, sizes.page)


def _append(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_page_kernels")._kv_cache_transpose_append(KV_HEADS, sizes.dim, sizes.dtype, sizes.page)
    pages = normal(rng, (4, 2, KV_HEADS, sizes.page, sizes.dim), sizes.dtype)
    k, v = (normal(rng, (5, KV_HEADS, sizes.dim), sizes.dtype) for _ in range(2))
    where = np.array([3, sizes.page + 1, -1, 4 * sizes.page - 1, 0], np.int32)

    def expected(pages: np.ndarray, k: np.ndarray, v: np.ndarray, where: np.ndarray) -> None:
        for token, position in enumerate(where):
            if position != -1:
                pages[position // sizes.page, :, :, position % sizes.page] = np.stack([k[token], v[token]])

    return Case(function, [pages, k, v, where], expected)


def _debug(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_page_kernels")._kv_cache_debug_get_kv(LAYERS, KV_HEADS, sizes.dim, sizes.dtype)
    pages = normal(rng, (3, 2, KV_HEADS, sizes.page, sizes.dim), sizes.dtype)
    where = rng.permutation(3 * sizes.page)[:7].astype(np.int32)
    k, v = (normal(rng, (LAYERS, 7, KV_HEADS, sizes.dim), sizes.dtype) for _ in range(2))

    def expected(pages: np.ndarray, where: np.ndarray, k: np.ndarray, v: np.ndarray, layer: int) -> None:
        k[layer], v[layer] = (pages[where // sizes.page, part, :, where % sizes.page] for part in (0, 1))

    return Case(function, [pages, where, k, v, 1], expected)


def _decode(target: Any, sizes: Sizes, rng: np.random.Generator, window: bool = False) -> Case:
    function = _module("_decode_kernels")._attention_decode(
        KV_HEADS, HEADS, sizes.dim, sizes.dtype, window, {}, target, sizes.page
    )
    cache = make_pages(rng, sizes)
    q = normal(rng, (2, HEADS, sizes.dim), sizes.dtype)
    offset, sink = np.array([sizes.page // 2, 2], np.int32), np.array([3, 1], np.int32)
    info = np.stack([cache.last, offset, sink]) if window else cache.last
    start, position = np.array([0, 2], np.int32), np.array([max(cache.lengths), 9], np.int32)

    def expected(q: np.ndarray, *rest: Any) -> list[Any]:
        rows, sums = [], []
        for sequence in range(2):
            k, v = cache.of(sequence)
            if window:
                kept = np.r_[0 : sink[sequence], offset[sequence] : len(k)]
                k, v = k[kept], v[kept]
            k = rotate(k, start[sequence] + np.arange(len(k)))
            row = rotate(q[sequence : sequence + 1], position[sequence : sequence + 1])
            out, total = attend(row, k, v, np.ones((1, len(k)), bool), sizes.scale)
            rows.append(out)
            sums.append(total)
        return [None] * 7 + [np.concatenate(rows), np.concatenate(sums)] + [None] * 4

    out, lse = np.zeros(q.shape, q.dtype), np.zeros(q.shape[:2], np.float32)
    args = [q, cache.pages, cache.indptr, cache.table, info, start, position, out, lse, 1, 1.0, THETA, sizes.scale]
    return Case(function, args, expected)


def _decode_window(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    return _decode(target, sizes, rng, window=True)


ROWS = (6, 3)
"""Queries of each sequence."""


def _queries(rng: np.random.Generator, sizes: Sizes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Queries of both sequences, where each begins, room for outputs and for sums."""
    q = normal(rng, (sum(ROWS), HEADS, sizes.dim), sizes.dtype)
    return q, np.cumsum([0, *ROWS]).astype(np.int32), np.zeros(q.shape, q.dtype), np.zeros(q.shape[:2], np.float32)


def _each(count: int, attended: Callable[[int], tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    pairs = [attended(sequence) for sequence in range(count)]
    return [np.concatenate(part) for part in zip(*pairs, strict=True)]


def _prefill(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_prefill_kernels")._attention_prefill(
        KV_HEADS, HEADS, sizes.dim, sizes.dtype, False, {}, target, sizes.page
    )
    cache = make_pages(rng, sizes)
    q, indptr, out, lse = _queries(rng, sizes)
    start, position = np.array([0, 0], np.int32), np.arange(sum(ROWS), dtype=np.int32)

    def expected(q: np.ndarray, *rest: Any) -> list[Any]:
        def attended(sequence: int) -> tuple[np.ndarray, np.ndarray]:
            k, v = cache.of(sequence)
            mine = slice(indptr[sequence], indptr[sequence + 1])
            return attend(q[mine], k, v, causal(ROWS[sequence], len(k)), sizes.scale)

        return [None] * 8 + _each(2, attended) + [None] * 5

    args = [q, indptr, cache.pages, cache.indptr, cache.table, cache.last, start, position, out, lse]
    return Case(function, [*args, 1, 0, 1.0, THETA, sizes.scale], expected)


COLUMNS = (9, 4)
"""Keys of each sequence, where they are no pages."""


def _ragged(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    make = _module("_prefill_kernels")._attention_prefill_ragged
    function = make(KV_HEADS, HEADS, sizes.dim, sizes.dim, sizes.dtype, {}, target)
    q, indptr, out, lse = _queries(rng, sizes)
    k, v = (normal(rng, (sum(COLUMNS), KV_HEADS, sizes.dim), sizes.dtype) for _ in range(2))
    columns = np.cumsum([0, *COLUMNS]).astype(np.int32)
    position, start = np.arange(sum(ROWS), dtype=np.int32), np.array([1, 0], np.int32)

    def expected(q: np.ndarray, indptr: np.ndarray, k: np.ndarray, v: np.ndarray, *rest: Any) -> list[Any]:
        def attended(n: int) -> tuple[np.ndarray, np.ndarray]:
            rows, mine = slice(indptr[n], indptr[n + 1]), slice(columns[n], columns[n + 1])
            keys = rotate(k[mine], start[n] + np.arange(COLUMNS[n]))
            return attend(rotate(q[rows], position[rows]), keys, v[mine], causal(ROWS[n], COLUMNS[n]), sizes.scale)

        return [None] * 7 + _each(2, attended) + [None] * 5

    args = [q, indptr, k, v, columns, position, start, out, lse, 1, 1, 1.0, THETA, sizes.scale]
    return Case(function, args, expected)


def _sequence(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    make = _module("_prefill_kernels")._attention_sequence_prefill
    function = make(KV_HEADS, HEADS, sizes.dim, sizes.dtype, target, 1, sizes.scale)
    q = normal(rng, (2, 5, HEADS, sizes.dim), sizes.dtype)
    k, v = (normal(rng, (2, 8, KV_HEADS, sizes.dim), sizes.dtype) for _ in range(2))

    def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, *rest: Any) -> list[Any]:
        pairs = [attend(q[n], k[n], v[n], causal(5, 8), sizes.scale) for n in range(2)]
        return [None] * 3 + [np.stack(part) for part in zip(*pairs, strict=True)]

    return Case(function, [q, k, v, np.zeros(q.shape, q.dtype), np.zeros(q.shape[:3], q.dtype)], expected)


TREES = ([(0, 6), (1, 4), (2, 3), (3, 4), (4, 6), (5, 6)], [(0, 3), (1, 2), (2, 3)])
"""Of each sequence, for each node: its number in preorder, and the end of those below it."""


def _tree_mask(sequence: int, columns: int) -> np.ndarray:
    """Which columns a query sees: all before the tree, and the nodes above its own."""
    order = np.array(TREES[sequence])
    below = (order[:, None, 0] >= order[None, :, 0]) & (order[:, None, 0] < order[None, :, 1])
    return np.concatenate([np.ones((len(order), columns - len(order)), bool), below], axis=1)


def _tree(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("tree_attn").tree_attn(KV_HEADS, HEADS, sizes.dim, sizes.dtype, {}, target)
    q, indptr, out, lse = _queries(rng, sizes)
    k, v = (normal(rng, (sum(ROWS), KV_HEADS, sizes.dim), sizes.dtype) for _ in range(2))

    def expected(q: np.ndarray, indptr: np.ndarray, k: np.ndarray, v: np.ndarray, *rest: Any) -> list[Any]:
        def attended(n: int) -> tuple[np.ndarray, np.ndarray]:
            mine = slice(indptr[n], indptr[n + 1])
            return attend(q[mine], k[mine], v[mine], _tree_mask(n, ROWS[n]), sizes.scale)

        return [None] * 8 + _each(2, attended) + [None] * 4

    position, order = np.arange(sum(ROWS), dtype=np.int32), np.array([*TREES[0], *TREES[1]], np.int32)
    args = [q, indptr, k, v, indptr.copy(), position, indptr.copy(), order, out, lse, 0, 1.0, THETA, sizes.scale]
    return Case(function, args, expected)


def _tree_paged(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("tree_attn").tree_attn_with_paged_kv_cache(KV_HEADS, HEADS, sizes.dim, sizes.dtype, {}, target)
    cache = make_pages(rng, Sizes(sizes.dtype, sizes.dim))  # this kernel knows pages of 16 only
    q, indptr, out, lse = _queries(rng, sizes)

    def expected(q: np.ndarray, *rest: Any) -> list[Any]:
        def attended(n: int) -> tuple[np.ndarray, np.ndarray]:
            k, v = cache.of(n)
            return attend(q[indptr[n] : indptr[n + 1]], k, v, _tree_mask(n, len(k)), sizes.scale)

        return [None] * 8 + _each(2, attended) + [None] * 6

    start, position = np.zeros(2, np.int32), np.arange(sum(ROWS), dtype=np.int32)
    args = [q, indptr, cache.pages, cache.indptr, cache.table, cache.last, start, position, out, lse, 0, 1.0, THETA, sizes.scale]
    return Case(function, [*args, indptr.copy(), np.array([*TREES[0], *TREES[1]], np.int32)], expected)


def merge_states(v: np.ndarray, s: np.ndarray, other: np.ndarray, sums: np.ndarray) -> list[Any]:
    """Two results of attention as one, weighed by their sums of exponentials."""
    largest = np.maximum(s, sums)
    a, b = (np.exp2((x - largest).astype(np.float64)) for x in (s, sums))
    mean = v * (a / (a + b))[..., None] + other * (b / (a + b))[..., None]
    return [mean, np.log2(a + b) + largest, None, None]


def _merge(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_decode_kernels")._merge_state_inplace(HEADS, sizes.dim, sizes.dtype, target)
    v, other = (normal(rng, (3, HEADS, sizes.dim), sizes.dtype) for _ in range(2))
    s, sums = (normal(rng, (3, HEADS), "float32") for _ in range(2))
    return Case(function, [v, s, other, sums], merge_states)


def _rope(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    make = _module("position_embedding").llama_rope_with_position_map
    function = make(THETA, 1.0, sizes.dim, HEADS, KV_HEADS, sizes.dtype, {}, sizes.dim)
    qkv = normal(rng, (5, HEADS + 2 * KV_HEADS, sizes.dim), sizes.dtype)
    where = np.array([4, 0, 17, 9, 2], np.int32)

    def expected(qkv: np.ndarray, where: np.ndarray, *rest: Any) -> list[Any]:
        q, k, v = np.split(qkv, [HEADS, HEADS + KV_HEADS], axis=1)
        return [None, None, rotate(q, where), rotate(k, where), v, None]

    q, k, v = np.split(np.zeros_like(qkv), [HEADS, HEADS + KV_HEADS], axis=1)
    return Case(function, [qkv, where, q, k, v, 1], expected)


def _copy_page(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_page_kernels")._copy_single_page(KV_HEADS, sizes.page, sizes.dim, sizes.dtype, target)
    pages = normal(rng, (3, 2, KV_HEADS, sizes.page, sizes.dim), sizes.dtype)

    def expected(pages: np.ndarray, source: int, copy: int, length: int) -> None:
        pages[copy, :, :, :length] = pages[source, :, :, :length]

    return Case(function, [pages, 2, 0, 7], expected)


def _compact(target: Any, sizes: Sizes, rng: np.random.Generator) -> Case:
    function = _module("_page_kernels")._compact_kv_copy(KV_HEADS, sizes.dim, sizes.dtype, target, sizes.page)
    pages = normal(rng, (3, 2, KV_HEADS, sizes.page, sizes.dim), sizes.dtype)
    indptr = np.array([0, 2, 3], np.int32)
    moves = np.array([[5, 7, sizes.page + 4], [3, 5, 2 * sizes.page]], np.int32)

    def expected(pages: np.ndarray, indptr: np.ndarray, moves: np.ndarray, batch: int) -> None:
        for source, copy in moves.T:
            pages[copy // sizes.page, :, :, copy % sizes.page] = pages[source // sizes.page, :, :, source % sizes.page]

    return Case(function, [pages, indptr, moves, 2], expected)


KERNELS: dict[str, Callable[[Any, Sizes, np.random.Generator], Case]] = {
    "append": _append, "debug": _debug, "decode": _decode, "decode-window": _decode_window, "prefill": _prefill,
    "ragged": _ragged, "sequence": _sequence, "tree": _tree, "tree-paged": _tree_paged, "merge": _merge, "rope": _rope,
    "copy-page": _copy_page, "compact": _compact,
}  # fmt: skip


def make_case(name: str, target: Any, sizes: Sizes) -> Case:
    """The kernel `name` for a TVM target, with seeded arguments."""
    return KERNELS[name](target, sizes, np.random.default_rng(7))
