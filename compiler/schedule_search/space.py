"""The schedule space: for each variant one design space, in which tile sizes and unrolling are sampled.

Every work-item computes a tile of texels (or of vectors of four elements, or of elements, where an axis has no fours). Tile
sizes divide the loops exactly, and nothing else holds them back: work-groups above the device's limit, tiles that overflow
local memory and images wider than the device takes belong to the space, and are rejected candidate by candidate.
"""

from __future__ import annotations

from typing import Any

from ...base.errors import UnsupportedError
from ...records import dataclass
from ..schedule_database.anchor import LANES, Anchor, find_anchor
from ..schedule_database.metaschedule import meta_schedule
from ..schedule_database.variants import KEY, Variant, variants
from ..schedules.blocks import inline_consumers, inline_producers
from ..tvm_bridge.versions import import_tvm

STAGE_THREADS = 64
"""Work-items of a group that copies an operand into a texture."""

MOST_INNER = 4
"""Largest tile of a work-item along one axis."""

UNROLL = (0, 16, 64)
"""Choices for how many statements a loop may unroll to."""

DATA_SCOPE, WEIGHT_SCOPE = "global.texture", "global.texture-weight"


def space_generator() -> Any:
    """The space as a MetaSchedule space generator, without TVM's postprocessors: those would drop what is to be reported."""
    ms = meta_schedule()
    mutators = {ms.mutator.MutateTileSize(): 0.9, ms.mutator.MutateUnroll(): 0.1}
    return ms.space_generator.ScheduleFn(design_spaces, sch_rules=[], postprocs=[], mutator_probs=mutators)


def design_spaces(sch: Any) -> list[Any]:
    """A schedule of each variant. UnsupportedError for a function that `find_anchor` does not know."""
    anchor = find_anchor(sch)
    if anchor is None:
        raise UnsupportedError("unsupported: the space is for one convolution or matrix product over known sizes")
    found = []
    for variant in variants(_is_padded(sch, anchor), anchor.packed, _weight_texture(anchor), _in_registers(anchor)):
        one = sch.copy()
        try:
            apply(one, anchor, variant)
        except import_tvm().s_tir.ScheduleError:
            continue  # what is fused around the sum does not take this variant
        found.append(one)
    return found


def _is_padded(sch: Any, anchor: Anchor) -> bool:
    """Whether what the sum reads is made by a block of this function."""
    return bool(sch.get_producers(sch.get_sblock(anchor.name)))


def _weight_texture(anchor: Anchor) -> bool:
    """True for weights stored as texels, and for a matrix whose rows divide by four."""
    return anchor.packed or _matrix_in_fours(anchor)


def _matrix_in_fours(anchor: Anchor) -> bool:
    return anchor.kinds == "SSR" and anchor.extents[1] % LANES == 0 and len(anchor.operands[1].shape) == 2


def _in_registers(anchor: Anchor) -> bool:
    """A texel of the data holds four of the channels that are summed."""
    return anchor.packed and anchor.vectorised and anchor.channels % LANES == 0


@dataclass(frozen=True)
class _Tile:
    """Loops of one tiled axis, outermost first, and the sampled number of work-items along it."""

    group: Any
    item: Any
    inner: Any
    items: Any


@dataclass(frozen=True)
class _Loops:
    """tiles: up to three axes, the fastest last. lane: of four elements, None if there are none. step, channel: the outer
    and the inner part of the first summed loop."""

    tiles: tuple[_Tile, ...]
    lane: Any
    step: Any
    channel: Any


def apply(sch: Any, anchor: Anchor, variant: Variant) -> None:
    """Schedule the function in place, sampling where there is a choice. ScheduleError if a step does not apply."""
    block = sch.get_sblock(anchor.name)
    stages = _stage_operands(sch, block, anchor, variant)
    inline_consumers(sch, block)
    result = sch.cache_write(block, 0, "local")
    for consumer in sch.get_consumers(result):
        sch.reverse_compute_inline(consumer)
    loops = _tile(sch, block, anchor)
    if variant.weight == "local":
        _share_weights(sch, block, anchor, loops)
    if variant.registers:
        texels = sch.cache_read(block, 0, "local")
        sch.compute_at(texels, loops.channel, preserve_unit_loops=True)
        sch.vectorize(sch.get_loops(texels)[-1])
    _write_back(sch, result, loops, anchor)
    if loops.lane is not None:
        (sch.vectorize if anchor.vectorised else sch.unroll)(loops.lane)
    steps = sch.sample_categorical(list(UNROLL), [1 / len(UNROLL)] * len(UNROLL))
    sch.annotate(loops.step, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loops.step, "pragma_unroll_explicit", 1)
    sch.decompose_reduction(block, loops.step)
    for stage in stages:
        _bind_stage(sch, stage)
    sch.annotate(sch.get_sblock("root"), KEY, str(variant))


def _stage_operands(sch: Any, block: Any, anchor: Anchor, variant: Variant) -> list[Any]:
    """Inline what comes before the sum, or keep it as a stage; read operands through textures where the variant says so."""
    stages = []
    if variant.padding == "copied":
        (padded,) = sch.get_producers(block)
        inline_producers(sch, padded)
        sch.set_scope(padded, 0, DATA_SCOPE)
        stages.append(padded)
    else:
        inline_producers(sch, block)
        if variant.data == "texture":
            stages.append(sch.cache_read(block, 0, DATA_SCOPE))
    if variant.weight == "texture":
        stage = sch.cache_read(block, 1, WEIGHT_SCOPE if anchor.packed else DATA_SCOPE)
        if not anchor.packed:
            sch.transform_layout(stage, ("write", 0), lambda row, column: [row, column // LANES, column % LANES])
        stages.append(stage)
    return stages


def _tile(sch: Any, block: Any, anchor: Anchor) -> _Loops:
    """Split, order and bind the loops of the sum."""
    loops = list(sch.get_loops(block))
    spatial, sums = [loops[i] for i in anchor.spatial], [loops[i] for i in anchor.reduced]
    lane = None
    if anchor.packed:
        lane = spatial.pop()
    elif anchor.extents[anchor.spatial[-1]] % LANES == 0:
        rest, lane = sch.split(spatial.pop(), [None, LANES])
        spatial.append(rest)
    axes = spatial[-3:]
    outer = spatial[: -len(axes)]
    tiles = [_split_axis(sch, axis) for axis in axes]
    channel_lane: list[Any] = []
    channel = sums[0]
    if _in_registers(anchor):
        channel, texel = sch.split(channel, [None, LANES])
        channel_lane = [texel]
    first, inner = sch.split(channel, sch.sample_perfect_tile(channel, 2, MOST_INNER))
    reduced = [first, *sums[1:], inner, *channel_lane]
    groups, items, inners = ([getattr(tile, part) for tile in tiles] for part in ("group", "item", "inner"))
    sch.reorder(*outer, *groups, *items, *reduced, *inners, *([lane] if lane is not None else []))
    if outer:
        groups[0] = sch.fuse(*outer, groups[0])
    for group, item, axis in zip(groups[::-1], items[::-1], "xyz", strict=False):
        sch.bind(group, f"blockIdx.{axis}")
        sch.bind(item, f"threadIdx.{axis}")
    return _Loops(tuple(tiles), lane, first, inner)


def _split_axis(sch: Any, loop: Any) -> _Tile:
    sizes = sch.sample_perfect_tile(loop, 3, MOST_INNER)
    group, item, inner = sch.split(loop, sizes)
    return _Tile(group, item, inner, sizes[1])


def _share_weights(sch: Any, block: Any, anchor: Anchor, loops: _Loops) -> None:
    """Weights of a step in local memory, fetched by all work-items of the group together."""
    shared = sch.cache_read(block, 1, "shared")
    before = len(sch.get_loops(shared))
    sch.compute_at(shared, loops.step, preserve_unit_loops=True)
    *own, last = sch.get_loops(shared)[-before:]
    if anchor.packed:
        sch.vectorize(last)
    else:
        own.append(last)
    fused = sch.fuse(*own)
    parts = sch.split(fused, [None, *(tile.items for tile in loops.tiles)])[1:]
    for part, axis in zip(parts[::-1], "xyz", strict=False):
        sch.bind(part, f"threadIdx.{axis}")


def _write_back(sch: Any, result: Any, loops: _Loops, anchor: Anchor) -> None:
    sch.reverse_compute_at(result, loops.tiles[-1].item, preserve_unit_loops=True)
    if loops.lane is None:
        return
    last = sch.get_loops(result)[-1]
    if not anchor.packed:  # one axis holds the tile and its lanes
        _, last = sch.split(last, [None, LANES])
    sch.vectorize(last)


def _bind_stage(sch: Any, stage: Any) -> None:
    """A work-item for each texel of a copy."""
    *outer, last = sch.get_loops(stage)
    row, lane = sch.split(last, [None, LANES])
    outer.append(row)
    sch.vectorize(lane)
    group, item = sch.split(sch.fuse(*outer), [None, STAGE_THREADS])
    sch.bind(group, "blockIdx.x")
    sch.bind(item, "threadIdx.x")
