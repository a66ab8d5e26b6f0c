"""How a paged KV cache is created: the arguments of `vm.builtin.paged_attention_kv_cache_create`, read and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....base.errors import AdrenoSimError, UnsupportedError
from ..values import FunctionValue, ShapeValue, Tensor, TupleValue, Value
from .attention import NO_ROPE, ROPE_INSIDE, Role, Rotation

ARGUMENTS = 28

KINDS = {0: "multi-head attention", 1: "multi-head latent attention (MLA)", 2: "linear attention", 3: "windows of single layers"}
"""TVM's numbers of kinds of attention."""

PLACES = {"append": 13, "rope": 24, "copy": 25, "debug": 26}
BACKENDS = {"ragged": 15, "prefill": 16, "decode": 17}
SLIDING_BACKENDS = {"ragged": 15, "prefill": 18, "decode": 19}
MERGE = 23


@dataclass(frozen=True)
class CacheConfig:
    """sequences: most in one forward; chunk: most tokens of one; pages: how many of `page_size` positions.

    layers: [first, last). functions: host function of each role. dtype: of keys and values.
    """

    sequences: int
    chunk: int
    page_size: int
    pages: int
    sliding: bool
    layers: range
    heads: int
    kv_heads: int
    dim: int
    rotation: Rotation
    dtype: str
    functions: dict[Role, str]
    debug: str = ""

    @property
    def layer_shape(self) -> tuple[int, ...]:
        """The pages of one layer: number, key or value, head, position, element."""
        return self.pages, 2, self.kv_heads, self.page_size, self.dim


def read_config(args: Sequence[Value]) -> CacheConfig:
    """The arguments of TVM's function. UnsupportedError for what is not simulated, AdrenoSimError for what does not fit."""
    if len(args) != ARGUMENTS:
        raise UnsupportedError(f"unsupported: a KV cache of {len(args)} arguments: expected TVM's {ARGUMENTS}")
    sizes, layers, kinds = (_dims(args[position], position) for position in (0, 1, 6))
    if len(sizes) not in (5, 6):
        raise UnsupportedError(f"unsupported: a KV cache with a configuration of {len(sizes)} numbers: expected 5 or 6")
    if len(layers) != 2:
        raise UnsupportedError(f"unsupported: a KV cache whose layers are spread over {len(layers) - 1} groups: expected 1")
    for kind in kinds:
        if kind != 0:
            raise UnsupportedError(f"unsupported: a KV cache for {KINDS.get(kind, f'kind {kind}')}: expected {KINDS[0]}")
    if args[7]:
        raise UnsupportedError("unsupported: a KV cache for disaggregation (transfer of keys and values to other devices)")
    if isinstance(args[11], Tensor):
        raise UnsupportedError("unsupported: a KV cache with extension factors of rope (longrope)")
    sequences, tokens, chunk, page_size, sliding = sizes[:5]
    if min(sequences, tokens, chunk, page_size) <= 0:
        raise AdrenoSimError(f"KV cache: sizes of {sizes[:4]}: expected sequences, tokens, chunk and page size of at least 1")
    heads, kv_heads, dim, value_dim = (_number(args[position], position) for position in (2, 3, 4, 5))
    if dim != value_dim:
        raise UnsupportedError(f"unsupported: a KV cache with keys of {dim} and values of {value_dim} elements")
    mode = int(_number(args[8], 8))
    rotation = Rotation(
        ROPE_INSIDE if sliding and mode != NO_ROPE else mode, float(_number(args[9], 9)), float(_number(args[10], 10))
    )
    init = args[12]
    if not isinstance(init, Tensor):
        raise AdrenoSimError(f"KV cache: argument 12 is {init!r}: expected a tensor of the type of keys and values")
    functions: dict[Any, str] = {role: _function(args[place], place) for role, place in PLACES.items()}
    for role, place in (SLIDING_BACKENDS if sliding else BACKENDS).items():
        functions[role] = _backend(args[place], place)
    merges = args[MERGE]
    functions["merge"] = _function(merges.items[0] if isinstance(merges, TupleValue) and merges.items else merges, MERGE)
    debug = functions.pop("debug")
    pages = -(-tokens // page_size) + 1 + 2 * sequences * bool(sliding)
    return CacheConfig(
        int(sequences), int(chunk), int(page_size), int(pages), bool(sliding), range(*layers), int(heads), int(kv_heads),
        int(dim), rotation, init.dtype, functions, debug,
    )  # fmt: skip


def _dims(value: Value, place: int) -> tuple[int, ...]:
    if not isinstance(value, ShapeValue):
        raise AdrenoSimError(f"KV cache: argument {place} is {value!r}: expected a shape")
    return value.dims


def _number(value: Value, place: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise AdrenoSimError(f"KV cache: argument {place} is {value!r}: expected a number")
    return value


def _function(value: Value, place: int) -> str:
    if not isinstance(value, FunctionValue):
        raise AdrenoSimError(f"KV cache: argument {place} is {value!r}: expected a PrimFunc of the module")
    return value.name


def _backend(value: Value, place: int) -> str:
    """A kernel of attention: ("tirx", PrimFunc)."""
    if not isinstance(value, TupleValue) or len(value.items) < 2:
        raise AdrenoSimError(f"KV cache: argument {place} has no kernel: expected a pair of a backend and a PrimFunc")
    backend = value.items[0]
    if backend not in ("tirx", "tir"):
        raise UnsupportedError(f"unsupported: attention of backend {backend!r}: expected TIR")
    return _function(value.items[1], place)
