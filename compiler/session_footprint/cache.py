"""The KV caches of a module: from the calls that create them, sized by what the user says; or as the user describes one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...base.errors import AdrenoSimError
from ...base.specs import TensorSpec
from ..artifact.interface import ShapeInfo, StateInfo, TensorInfo
from ..artifact.memory_plan import FixedTensor
from ..artifact.model import CompiledModel
from ..artifact.vm_function import CallBuiltin
from ..artifact.vm_registers import walk
from ..plan.lifetimes import trace
from ..plan.live_values import Ref
from ..run.kv_cache import CREATE
from ..run.kv_cache.config import INIT, CacheSizes, count_pages, read_sizes
from ..run.values import ShapeValue
from .entry_model import entry_model, tensors_of
from .lengths import Lengths

PROBES = (1_000_003, 2_000_003)
"""What the numbers of a shape begin at while a creating function is followed: no module has such sizes."""

SIZES = ("sequences", "positions", "tokens of one forward", "positions of a page", "sliding windows")
"""What the first five numbers of a cache say."""

FIELDS = {"layers": None, "heads": None, "kv-heads": None, "dim": None, "dtype": "float16"}
"""What --kv-cache says, with defaults."""


def creators(model: CompiledModel) -> list[str]:
    """The entries that create caches."""
    return [
        name
        for name in model.entries
        if any(isinstance(i, CallBuiltin) and i.function == CREATE for i in walk(model.functions[name].body))
    ]


def find_caches(model: CompiledModel, lengths: Lengths, described: CacheSizes | None) -> tuple[CacheSizes, ...]:
    """The caches that the module creates, or the one that is described.

    Raises AdrenoSimError if neither is there and functions take one, both are, or sizes contradict each other.
    """
    made = creators(model)
    if described is not None:
        if made:
            raise AdrenoSimError(f"--kv-cache: {made[0]} of the module says itself what its cache is like: leave it out")
        return (described,)
    takers = [name for name, params in model.entries.items() if any(isinstance(param, StateInfo) for param in params)]
    if takers and not made:
        raise AdrenoSimError(
            f"{takers[0]} takes a KV cache, and no function of the module creates one: describe it, as "
            "--kv-cache layers=32,heads=32,kv-heads=8,dim=128"
        )
    return tuple(cache for name in made for cache in _created(model, name, lengths))


def _created(model: CompiledModel, entry: str, lengths: Lengths) -> list[CacheSizes]:
    """What `entry` creates; numbers that it is given follow from `lengths`."""
    first, second = (_follow(model, entry, probe) for probe in PROBES)
    return [_sizes(entry, one, other, lengths) for one, other in zip(first, second, strict=True)]


def _follow(model: CompiledModel, entry: str, probe: int) -> list[list[Any]]:
    """The arguments of the calls that create caches, where the numbers of shapes count from `probe`."""
    shapes: dict[str, list[int]] = {}
    for param in model.entries[entry]:
        if isinstance(param, ShapeInfo):
            taken = sum(map(len, shapes.values()))
            shapes[param.name] = [probe + taken + number for number in range(param.rank)]
    alone = entry_model(model, entry, shapes)
    inputs = [_shape_of(info) for info in tensors_of(model.entries[entry])]
    return trace(alone, inputs).creations


def _shape_of(info: TensorInfo) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else 1 for dim in info.shape)


def _sizes(entry: str, args: Sequence[Any], other: Sequence[Any], lengths: Lengths) -> CacheSizes:
    dims = [arg[0].dims if arg and isinstance(arg[0], ShapeValue) else () for arg in (args, other)]
    init = args[INIT] if len(args) > INIT else None
    dtype = init.spec.dtype if isinstance(init, Ref) else ""
    if not dtype:
        raise AdrenoSimError(f"{entry}: argument {INIT} of its KV cache: expected a tensor of the type of keys and values")
    found = [_size(entry, place, one, two, lengths) for place, (one, two) in enumerate(zip(*dims, strict=True))]
    positions = lengths.context and lengths.context * lengths.batch
    if len(found) > 1 and positions and found[1] < positions:
        raise AdrenoSimError(
            f"{entry} makes room for {found[1]:,} positions in all: expected {positions:,}, as context {lengths.context} of "
            f"{lengths.batch} sequences asks for"
        )
    return read_sizes([ShapeValue(tuple(found)), *args[1:]], dtype)


def _size(entry: str, place: int, one: int, two: int, lengths: Lengths) -> int:
    """A number of a cache: a constant of the module, or what it is given."""
    if one == two:
        return one
    if place >= len(SIZES) or two - one != PROBES[1] - PROBES[0] or one < PROBES[0]:
        raise AdrenoSimError(
            f"{entry} computes the {SIZES[min(place, 4)]} of its KV cache: expected a number, or one it is given"
        )
    if lengths.context is None or lengths.tokens is None:
        raise AdrenoSimError(f"{entry} gets the number of positions of its KV cache as an argument: give --context")
    return (lengths.batch, lengths.context * lengths.batch, lengths.tokens, lengths.page_size, 0)[place]


def describe_cache(text: str, lengths: Lengths) -> CacheSizes:
    """The cache that `text` describes, as layers=32,heads=32,kv-heads=8,dim=128,dtype=float16. AdrenoSimError for others."""
    fields: dict[str, str | None] = dict(FIELDS)
    for part in text.split(","):
        name, _, value = part.partition("=")
        fits = value in ("float16", "float32") if name == "dtype" else re.fullmatch("[1-9][0-9]{0,5}", value)
        if name not in FIELDS or not fits:
            raise AdrenoSimError(
                f"--kv-cache {text}: {part!r}: expected layers=N,heads=N,kv-heads=N,dim=N,dtype=float16 or float32"
            )
        fields[name] = value
    if missing := [name for name, value in fields.items() if value is None]:
        raise AdrenoSimError(f"--kv-cache {text}: no {missing[0]}: expected layers=N,heads=N,kv-heads=N,dim=N")
    if lengths.context is None or lengths.tokens is None:
        raise AdrenoSimError("--kv-cache: how many positions it has is not known: give --context")
    layers, heads, kv_heads, dim = (int(fields[name] or 0) for name in ("layers", "heads", "kv-heads", "dim"))
    pages = count_pages(lengths.context * lengths.batch, lengths.page_size, lengths.batch, False)
    return CacheSizes(
        lengths.batch, lengths.tokens, lengths.page_size, pages, False, range(layers), heads, kv_heads, dim, str(fields["dtype"])
    )


def cache_tensors(caches: Sequence[CacheSizes]) -> list[FixedTensor]:
    """What caches hold on the device for as long as they exist: the pages of each layer, workspaces, arrays of a forward."""
    found = []
    for number, cache in enumerate(caches):
        name = f"cache_{number}" if len(caches) > 1 else "cache"
        pages = TensorSpec(cache.layer_shape, cache.dtype)
        parts = {f"pages_{layer}": pages for layer in cache.layers} | cache.workspaces() | cache.forward_arrays()
        found += [
            FixedTensor(f"{name}.{key}", "state", spec.shape, spec.dtype, spec.scope, spec.nbytes, 0)
            for key, spec in parts.items()
        ]
    return found
