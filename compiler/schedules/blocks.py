"""What the schedule rules share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction, iter_kinds, written_buffer
from ..tvm_bridge.versions import import_tvm
from .packed_convolution import LANES

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

THREADS = 256
"""Work-group size: the limit of TVM's Adreno targets."""


def schedule_rule(name: str, apply: Callable[[Any, Target], Any]) -> Pass:
    """An ApplyDefaultSchedule with one rule: `apply(func, target)` gives a Schedule, or None to leave the function."""
    dlight = import_tvm().s_tir.dlight
    body = {"apply": lambda _self, func, target, _tunable: apply(func, target)}
    return dlight.ApplyDefaultSchedule(type(name, (dlight.ScheduleRule,), body)())


def writes_texture(sch: Any, block: Any) -> bool:
    """Whether the block writes a texture. One that does not say what it writes was scheduled by hand, for buffers."""
    return len(sch.get(block).writes) > 0 and written_buffer(sch, block).scope.startswith("global.texture")


def inline_producers(sch: Any, block: Any) -> None:
    """Compute what `block` reads where it reads it, as far as that is possible."""
    for producer in list(sch.get_producers(block)):
        inline_producers(sch, producer)
        if not is_reduction(sch, producer) and len(sch.get_consumers(producer)) == 1:
            with contextlib.suppress(import_tvm().s_tir.ScheduleError):
                sch.compute_inline(producer)


def inline_consumers(sch: Any, block: Any) -> None:
    """Compute what follows `block` in its last block, that of the function's result."""
    name = sch.get(block).name_hint
    names = [sch.get(other).name_hint for other in blocks_of(sch)]
    for other in blocks_of(sch)[names.index(name) + 1 :]:
        if sch.get_consumers(other):
            sch.compute_inline(other)


def bind_threads(sch: Any, loops: Sequence[Any]) -> Any:
    """Fuse loops and spread them over work-groups of THREADS work-items; the loop of the work-item.

    Loops that run once have a group of one work-item: no index depends on its number, so TVM puts no condition on what is
    computed in it later, and the other work-items of a larger group would do it too, without what comes before.
    """
    fused = sch.fuse(*loops)
    group, item = sch.split(fused, [None, 1 if is_extent(sch.get(fused).extent, 1) else THREADS])
    sch.bind(group, "blockIdx.x")
    sch.bind(item, "threadIdx.x")
    return item


def has_texel_lane(sch: Any, block: Any) -> bool:
    """Whether the innermost spatial axis of a block runs over the four channels of the texel it writes."""
    kinds = iter_kinds(sch, block)
    if "S" not in kinds:
        return False
    lane = sch.get(block).iter_vars[kinds.rindex("S")]
    index = sch.get(block).writes[0].region[-1].min
    return bool(index.same_as(lane.var)) and is_extent(lane.dom.extent, LANES)


def is_extent(extent: Any, size: int) -> bool:
    """Whether a loop extent is this constant."""
    return isinstance(extent, import_tvm().tirx.IntImm) and int(extent) == size


def accumulate_texel(sch: Any, block: Any, vectorise: bool = True) -> None:
    """Schedule a reduction to a texture or NCHW4c buffer, or its one term: a work-item per texel, four lanes in a private array.

    What follows the reduction elementwise is computed where the texel is written. vectorise: the lanes are summed as one
    vector, not one after the other.
    """
    of_result, reduces = [is_written_at(sch, block, var) for var in sch.get(block).iter_vars], is_reduction(sch, block)
    inline_consumers(sch, block)
    store = sch.cache_write(block, 0, "local")
    for consumer in sch.get_consumers(store):
        sch.reverse_compute_inline(consumer)
    loops = sch.get_loops(block)
    *outer, lane = (loop for loop, writes in zip(loops, of_result, strict=True) if writes)
    terms = [loop for loop, writes in zip(loops, of_result, strict=True) if not writes]
    sch.reorder(*outer, *terms, lane)
    item = bind_threads(sch, outer)
    sch.reverse_compute_at(store, item)
    (sch.vectorize if vectorise else sch.unroll)(lane)
    sch.vectorize(sch.get_loops(store)[-1])
    if reduces:
        sch.decompose_reduction(block, terms[0])


def is_written_at(sch: Any, block: Any, axis: Any) -> bool:
    """Whether an axis of a block is an index of what it writes. The axes of one term are not, though they are spatial."""
    return any(index.min.same_as(axis.var) for index in sch.get(block).writes[0].region)


def bind_block(sch: Any, block: Any) -> None:
    """Give an unbound block its work-items: one per texel where it writes a texture, else one per element.

    A texture written in another order than its texels (a layout transform) is first written to a buffer, and copied.
    """
    if writes_texture(sch, block) and not (has_texel_lane(sch, block) and not is_reduction(sch, block)):
        copy = sch.cache_write(block, 0, "global")
        bind_block(sch, block)
        block = copy
    kinds = iter_kinds(sch, block)
    loops = sch.get_loops(block)
    outer = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "S"]
    inner = [loop for loop, kind in zip(loops, kinds, strict=True) if kind != "S"]
    lane = outer.pop() if writes_texture(sch, block) else None
    if not outer:
        outer = [sch.add_unit_loop(block)]
    sch.reorder(*outer, *inner)
    bind_threads(sch, outer)
    if lane is not None:
        sch.vectorize(lane)
    if inner and "R" in kinds:
        sch.decompose_reduction(block, inner[0])
