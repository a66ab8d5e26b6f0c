"""The functions of TVM's runtime that keep state on the host, by their names in TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import AdrenoSimError, UnsupportedError
from .kv_cache import CREATE
from .runtime import Runtime
from .values import ShapeValue, Tensor, Value, retain

Builtin = Callable[["Runtime", list[Value]], Value]
"""Takes the machine and the arguments; its result is held for the caller."""


def call_builtin(name: str, args: list[Value], machine: Runtime) -> Value:
    """Call a function of TVM's runtime. UnsupportedError for one that is not simulated, AdrenoSimError for bad arguments."""
    if name in REFUSED:
        raise UnsupportedError(f"unsupported: {name}: {REFUSED[name]} is not simulated")
    if name not in BUILTINS:
        raise UnsupportedError(f"unsupported: {name}: expected one of {', '.join(sorted(set(BUILTINS) - set(REFUSED)))}")
    return BUILTINS[name](machine, args)


def _create(machine: Runtime, args: list[Value]) -> Value:
    from .kv_cache.cache import PagedKVCache
    from .kv_cache.config import read_config

    return PagedKVCache(read_config(args), machine)


def _method(name: str, *kinds: type, least: int | None = None) -> Builtin:
    """A method of the cache, which is the first argument; the others are of these kinds, and `least` of them must be given."""

    def call(machine: Runtime, args: list[Value]) -> Value:
        from .kv_cache.cache import PagedKVCache

        cache, rest = (args[0] if args else None), args[1:]
        if not isinstance(cache, PagedKVCache):
            raise AdrenoSimError(f"KV cache: {name} of {cache!r}: expected a KV cache")
        fits = (len(kinds) if least is None else least) <= len(rest) <= len(kinds)
        if not fits or not all(isinstance(arg, _ACCEPTED[kind]) for arg, kind in zip(rest, kinds, strict=False)):
            wanted = ", ".join(kind.__name__.removesuffix("Value").lower() for kind in kinds) or "nothing"
            given = ", ".join(type(arg).__name__.removesuffix("Value").lower() for arg in rest) or "nothing"
            raise AdrenoSimError(f"KV cache: {name}: expected {wanted}, given {given}")
        found: Any = getattr(cache, name)(*(arg.dims if isinstance(arg, ShapeValue) else arg for arg in rest))
        return retain(found)

    return call


_ACCEPTED: dict[type, tuple[type, ...]] = {int: (int,), float: (float, int), ShapeValue: (ShapeValue,), Tensor: (Tensor,)}

_STATE, _ATTENTION = "vm.builtin.kv_state_", "vm.builtin.attention_kv_cache_"

ATTEND = f"{_ATTENTION}attention_with_fused_qkv"

REFUSED: dict[str, str] = {
    "vm.builtin.kv_cache_disagg_prepare_recv": "disaggregation",
    "vm.builtin.kv_cache_disagg_mark_send": "disaggregation",
    f"{_ATTENTION}commit_accepted_token_tree_nodes": "a tree of tokens",
    f"{_ATTENTION}self_attention": "self attention apart from the cache",
    f"{_ATTENTION}cross_attention": "cross attention",
    f"{_ATTENTION}append_mla_kv": "multi-head latent attention (MLA)",
    f"{_ATTENTION}merge_attn_output_inplace": "merging of attention apart from the cache",
    f"{_ATTENTION}debug_get_kv_mla": "multi-head latent attention (MLA)",
}
"""Functions of caches that are refused, and what for."""


WRITTEN: dict[str, tuple[int, ...]] = {ATTEND: (4,), f"{_ATTENTION}debug_get_kv": (4, 5)}
"""Function -> its arguments that it writes; tensors among the others are read."""


def _refuse(machine: Runtime, args: list[Value]) -> Value:
    raise AssertionError("refused before it is called")


BUILTINS: dict[str, Builtin] = {
    CREATE: _create,
    f"{_STATE}clear": _method("clear"),
    f"{_STATE}add_sequence": _method("add_sequence", int),
    f"{_STATE}remove_sequence": _method("remove_sequence", int),
    f"{_STATE}fork_sequence": _method("fork_sequence", int, int, int, least=2),
    f"{_STATE}popn": _method("pop", int, int),
    f"{_STATE}begin_forward": _method("begin_forward", ShapeValue, ShapeValue, ShapeValue, least=2),
    f"{_STATE}end_forward": _method("end_forward"),
    f"{_ATTENTION}enable_sliding_window_for_seq": _method("enable_window", int, int, int),
    ATTEND: _method("attend", int, float, Tensor, Tensor),
    f"{_ATTENTION}empty": _method("is_empty"),
    f"{_ATTENTION}get_num_available_pages": _method("count_free_pages"),
    f"{_ATTENTION}get_total_sequence_length": _method("count_positions"),
    f"{_ATTENTION}get_query_positions": _method("query_positions"),
    f"{_ATTENTION}debug_get_kv": _method("debug_get_kv", int, int, int, Tensor, Tensor),
    **dict.fromkeys(REFUSED, _refuse),
}
