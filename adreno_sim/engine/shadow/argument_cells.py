"""Which race cells level full needs for the memory that arguments are in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...image.formats import format_of
from ...ir import ir
from ...ir.mod_ref import written_arguments
from ...ir.provenance import ObjectId
from ..abi.race_cells import ATOMIC_CELL_WORDS, CELL_WORDS, UNREAD_CELL_WORDS
from ..abi.specialization import ArgSpec, ImageArg, ShadowSpec
from .granularity import Granularities, argument_granularities


def cells_of_block(function: ir.Function, args: Sequence[ArgSpec], indices: Collection[int]) -> ShadowSpec:
    """Returns what must be recorded of a block of memory in which these buffers and images lie."""
    granularities = argument_granularities(function)
    granularity = min(_granularity(granularities, index, args[index]) for index in indices)
    if granularities.unknown:
        return ShadowSpec(words_of_cells(granularities, granularities.by_object), granularity)
    if written_arguments(function).isdisjoint(indices):
        return ShadowSpec()
    is_read = any(_is_read(function, granularities, index) for index in indices)
    words = words_of_cells(granularities, [("param", index) for index in indices])
    return ShadowSpec(words if is_read else UNREAD_CELL_WORDS, granularity)


def words_of_cells(granularities: Granularities, objects: Iterable[ObjectId]) -> int:
    """Returns how many words the cells of these objects have, which are read."""
    shared = granularities.unknown and granularities.has_atomics
    return ATOMIC_CELL_WORDS if shared or not granularities.atomic.isdisjoint(objects) else CELL_WORDS


def may_change(function: ir.Function, index: int) -> bool:
    """Returns True if a launch may write the memory of a buffer or image."""
    return argument_granularities(function).unknown or index in written_arguments(function)


def _granularity(granularities: Granularities, index: int, arg: ArgSpec) -> int:
    if not isinstance(arg, ImageArg):
        return granularities.of(("param", index))
    whole = format_of(arg.order, arg.channel_type).texel_bytes
    texel = whole & -whole
    return min(texel, granularities.least) if granularities.unknown else texel


def _is_read(function: ir.Function, granularities: Granularities, index: int) -> bool:
    type = function.params[index].type
    return type.access != "write_only" if isinstance(type, ir.Image) else ("param", index) in granularities.read
