"""What the model of time asks of a launch: figures of a work-item, of a wave and of the whole, from counters of some groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..device.counters import LaunchCounters, MemoryCounters
from ..device.group_sample import SampledLaunch

SMALL_TEXEL = 8
"""The bytes of the largest texel that a texture unit gives at its full rate: four halves."""

SPECIAL = 6
"""Multiply-adds that a root, an exponential or a trigonometric function costs: as many on an Adreno 660
(https://github.com/azhirnov/as-en, AE/docs/papers/bench/Adreno_660.md)."""


@dataclass(frozen=True)
class LaunchFigures:
    """groups: of the launch; group_items: work-items of a full group.

    Of a work-item, in the mean: multiply_adds on floats, a special function counting SPECIAL; texels: read of textures, those
    of up to SMALL_TEXEL bytes, and large_texels; chain: operations on floats that wait for one another.

    lines: cache lines that the accesses of all work-items touch, by waves, added up. local_passes: of local memory, likewise.
    live_bytes: of values on floats of a work-item, where most are needed at once. touched_bytes: of arguments, distinct ones.
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


def figures_of(sample: SampledLaunch, touched_bytes: int) -> LaunchFigures:
    """Returns the figures of a launch with work-items. touched_bytes: of its arguments, which samples do not count."""

    def add(count: Callable[[LaunchCounters], float]) -> float:
        return sum(weight * count(counters) for weight, counters in sample.parts)

    def add_rows(wanted: Callable[[MemoryCounters], bool], count: Callable[[MemoryCounters], float]) -> float:
        return add(lambda counters: sum(count(row) for row in counters.memory if wanted(row)))

    def is_texture(row: MemoryCounters) -> bool:
        return row.kind == "image" and row.reads > 0

    items = add(lambda counters: counters.work_items)
    floats = add(lambda counters: sum(counters.operations.get(name, 0) for name in ("float16", "float32")))
    special = add(lambda counters: counters.operations.get("special", 0))
    return LaunchFigures(
        groups=float(sample.groups),
        group_items=max(counters.work_items / counters.groups for _, counters in sample.parts),
        multiply_adds=(floats / 2 + SPECIAL * special) / items,
        texels=add_rows(lambda row: is_texture(row) and row.texel_bytes <= SMALL_TEXEL, _fetched) / items,
        large_texels=add_rows(lambda row: is_texture(row) and row.texel_bytes > SMALL_TEXEL, _fetched) / items,
        chain=add(lambda counters: counters.chained) / items,
        lines=add_rows(lambda row: row.kind in ("buffer", "image"), _lines),
        local_passes=add_rows(lambda row: row.kind == "local", _lines),
        live_bytes=float(sample.live_bytes),
        touched_bytes=float(touched_bytes),
    )


def _fetched(row: MemoryCounters) -> float:
    """Reads but for those of what the work-item holds already, of which only the traced part is known."""
    return row.reads * row.traced / max(1, row.traced + row.held)


def _lines(row: MemoryCounters) -> float:
    """Lines of the traced accesses, as those of all."""
    return row.transactions * (row.reads + row.writes) / max(1, row.traced + row.held)
