"""What the model of time asks of a launch: figures of a work-item, of a wave and of the whole, from counters of some groups."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..device.counters import MemoryCounters
from ..device.group_sample import SampledLaunch
from ..records import dataclass

SMALL_TEXEL = 8
"""The bytes of the largest texel that a texture unit gives at its full rate: four halves."""

SPECIAL = 6
"""Multiply-adds that a root, an exponential or a trigonometric function costs: as many on an Adreno 660
(https://github.com/azhirnov/as-en, AE/docs/papers/bench/Adreno_660.md)."""

_NONE: Mapping[str, int] = MappingProxyType({})

INTEGERS = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True)
class LaunchFigures:
    """groups: of the launch; group_items: work-items of a full group.

    Of a work-item, in the mean: multiply_adds on floats, a special function counting SPECIAL, a slow one as
    many as it costs; texels: read of textures, those
    of up to SMALL_TEXEL bytes, and large_texels; chain: operations on floats that wait for one another; waits: reads of
    memory that do.

    lines: cache lines that the accesses of all work-items touch, by waves, added up; buffer_lines: those of them in buffers, and
    in images that are written. local_passes: the same of local memory. live_bytes: of values on floats of a work-item, where
    most are needed at once. touched_bytes: of arguments, distinct ones. integers: operations on integers of a work-item, in the
    mean. barriers: that a group passes, in the mean.
    """

    groups: Any
    group_items: Any
    multiply_adds: Any
    texels: Any
    large_texels: Any
    chain: Any
    lines: Any
    local_passes: Any
    live_bytes: Any
    touched_bytes: Any
    buffer_lines: Any = 0.0
    integers: Any = 0.0
    waits: Any = 0.0
    barriers: Any = 0.0


def figures_of(sample: SampledLaunch, touched_bytes: int, textures: Mapping[str, int] = _NONE) -> LaunchFigures:
    """Returns the figures of a launch with work-items. touched_bytes: of its arguments, which samples do not count. textures:
    parameters whose buffers stand for textures, and the bytes of their texels."""

    def is_texture(row: MemoryCounters) -> bool:
        return row.reads > 0 and (row.kind == "image" or row.name in textures)

    def texel_of(row: MemoryCounters) -> int:
        return textures.get(row.name, row.texel_bytes)

    def fetched(row: MemoryCounters) -> float:
        """Texels read except for those that the work-item holds already; only the traced part of these is known."""
        texels = row.reads if row.kind == "image" else row.read_bytes / texel_of(row)
        return texels * row.traced / max(1, row.traced + row.held)

    items = sample.add(lambda counters: counters.work_items)
    floats = sample.add(lambda counters: sum(counters.operations.get(name, 0) for name in ("float16", "float32")))
    special = sample.add(lambda counters: counters.operations.get("special", 0))
    return LaunchFigures(
        groups=float(sample.groups),
        group_items=max(counters.work_items / counters.groups for _, counters in sample.parts),
        multiply_adds=(floats / 2 + SPECIAL * special + sample.add(lambda counters: counters.slow)) / items,
        texels=sample.add_rows(lambda row: is_texture(row) and texel_of(row) <= SMALL_TEXEL, fetched) / items,
        large_texels=sample.add_rows(lambda row: is_texture(row) and texel_of(row) > SMALL_TEXEL, fetched) / items,
        barriers=sample.add(lambda counters: counters.barriers) / sample.groups,
        waits=sample.add(lambda counters: counters.awaited) / items,
        chain=sample.add(lambda counters: counters.chained) / items,
        lines=sample.add_rows(lambda row: row.kind in ("buffer", "image"), _lines_of),
        local_passes=sample.add_rows(lambda row: row.kind == "local", _lines_of),
        live_bytes=float(sample.live_bytes),
        touched_bytes=float(touched_bytes),
        buffer_lines=sample.add_rows(lambda row: row.kind in ("buffer", "image") and not is_texture(row), _lines_of),
        integers=sample.add(lambda counters: sum(counters.operations.get(name, 0) for name in INTEGERS)) / items,
    )


def _lines_of(row: MemoryCounters) -> float:
    return row.scale(row.transactions)
