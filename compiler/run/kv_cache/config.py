"""How a paged KV cache is created: the arguments of `vm.builtin.paged_attention_kv_cache_create`, read and judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.errors import AdrenoSimError, UnsupportedError
from ....base.specs import TensorSpec
from ....records import dataclass
from ..values import FunctionValue, ShapeValue, Tensor, TupleValue, Value
from .attention import NO_ROPE, ROPE_INSIDE, Role, Rotation
from .batch import DEPTHS

ARGUMENTS = 28

INIT = 12
"""The argument that says the type of keys and values: a tensor of it."""

KINDS = {0: "multi-head attention", 1: "multi-head latent attention (MLA)", 2: "linear attention", 3: "windows of single layers"}
"""TVM's numbers of kinds of attention."""

PLACES = {"append": 13, "rope": 24, "copy": 25, "debug": 26}
BACKENDS = {"ragged": 15, "prefill": 16, "decode": 17}
SLIDING_BACKENDS = {"ragged": 15, "prefill": 18, "decode": 19}
MERGE = 23


@dataclass(frozen=True)
class CacheSizes:
    """What decides how much memory a cache takes.

    sequences: most in one forward; chunk: most tokens of one; pages: how many of `page_size` positions.
    layers: [first, last). dtype: of keys and values.
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
    dtype: str

    @property
    def layer_shape(self) -> tuple[int, ...]:
        """The pages of one layer: number, key or value, head, position, element."""
        return self.pages, 2, self.kv_heads, self.page_size, self.dim

    def workspaces(self) -> dict[str, TensorSpec]:
        """What attention over one chunk fills, for as long as the cache exists."""
        wide, narrow = (self.chunk, self.heads, self.dim), (self.chunk, self.kv_heads, self.dim)
        shapes = {"q": wide, "k": narrow, "v": narrow, "other_out": wide}
        sums = dict.fromkeys(("sums", "other_sums"), TensorSpec((self.chunk, self.heads), "float32"))
        return {name: TensorSpec(shape, self.dtype) for name, shape in shapes.items()} | sums

    def forward_arrays(self) -> dict[str, TensorSpec]:
        """The largest arrays that a forward puts on the device, which stay until the next one (see `batch`)."""
        ends: tuple[int, ...] = (self.sequences + 1,)
        rows: tuple[int, ...] = (self.sequences,)
        lengths = (3, *rows) if self.sliding else rows
        depth = {"queries": ends, "pages_begin": ends, "pages": (self.pages,), "lengths": lengths, "starts": rows}
        found = {"begins": ends, "positions": (self.chunk,), "targets": (self.chunk,), "starts": rows}
        found |= {f"depth_{number}.{name}": shape for number in range(DEPTHS) for name, shape in depth.items()}
        return {name: TensorSpec(shape, "int32") for name, shape in found.items()}


@dataclass(frozen=True)
class CacheConfig(CacheSizes):
    """How a cache is created. functions: host function of each role."""

    rotation: Rotation
    functions: dict[Role, str]
    debug: str = ""


def count_pages(tokens: int, page_size: int, sequences: int, sliding: bool) -> int:
    """Pages that TVM's runtime makes for `tokens` positions over all sequences."""
    return -(-tokens // page_size) + 1 + 2 * sequences * sliding


def read_sizes(args: Sequence[Any], dtype: str) -> CacheSizes:
    """What the arguments of TVM's function say of its memory: shapes as ShapeValue, numbers. dtype: of argument 12.

    Raises UnsupportedError for what is not simulated, AdrenoSimError for what does not fit.
    """
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
    sequences, tokens, chunk, page_size, sliding = map(int, sizes[:5])
    if min(sequences, tokens, chunk, page_size) <= 0:
        raise AdrenoSimError(f"KV cache: sizes of {sizes[:4]}: expected sequences, tokens, chunk and page size of at least 1")
    heads, kv_heads, dim, value_dim = (int(_number(args[position], position)) for position in (2, 3, 4, 5))
    if dim != value_dim:
        raise UnsupportedError(f"unsupported: a KV cache with keys of {dim} and values of {value_dim} elements")
    pages = count_pages(tokens, page_size, sequences, bool(sliding))
    return CacheSizes(sequences, chunk, page_size, pages, bool(sliding), range(*layers), heads, kv_heads, dim, dtype)


def read_config(args: Sequence[Value]) -> CacheConfig:
    """The arguments of TVM's function. UnsupportedError for what is not simulated, AdrenoSimError for what does not fit."""
    init = args[INIT] if len(args) == ARGUMENTS else None
    sizes = read_sizes(args, init.dtype if isinstance(init, Tensor) else "")
    if isinstance(args[11], Tensor):
        raise UnsupportedError("unsupported: a KV cache with extension factors of rope (longrope)")
    mode = int(_number(args[8], 8))
    rotation = Rotation(
        ROPE_INSIDE if sizes.sliding and mode != NO_ROPE else mode, float(_number(args[9], 9)), float(_number(args[10], 10))
    )
    if not isinstance(init, Tensor):
        raise AdrenoSimError(f"KV cache: argument {INIT} is {init!r}: expected a tensor of the type of keys and values")
    functions: dict[Any, str] = {role: _function(args[place], place) for role, place in PLACES.items()}
    for role, place in (SLIDING_BACKENDS if sizes.sliding else BACKENDS).items():
        functions[role] = _backend(args[place], place)
    merges = args[MERGE]
    functions["merge"] = _function(merges.items[0] if isinstance(merges, TupleValue) and merges.items else merges, MERGE)
    debug = functions.pop("debug")
    return CacheConfig(**vars(sizes), rotation=rotation, functions=functions, debug=debug)


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
