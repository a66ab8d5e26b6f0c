"""The figures of a launch that its cost is made of: counters of its work-groups, scaled to the whole launch."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from ...device.counters import LaunchCounters, MemoryCounters
from ...device.group_sample import SampledLaunch

SHARED = ("buffer", "image")
"""Kinds of memory whose lines waves touch."""


@dataclass(frozen=True)
class Figures:
    """What a launch does, in all its work-groups.

    operations: by type, by work-items. wave_accesses: to buffers and images, by waves. accesses, accessed_bytes: the same by
    work-items. buffer_lines: lines that the accesses of waves touch in buffers, and in images that are written, added up;
    texture_lines: the same of textures; fetched_lines: of textures, the distinct ones that each wave reads, added up.
    local_passes: of local memory; local_least: without bank conflicts. private_bytes: accessed in arrays of work-items.

    waves: of the launch. barriers: waits of waves. lanes: the share of a wave's work-items that take part in what it executes;
    idle are those that a divergent branch leaves out, and those that a group lacks to whole waves.

    group_waves: waves of a group; local_size: bytes of local memory of a group; private_size: of arrays of a work-item. groups:
    of the launch; counted: those that the figures are of.
    """

    operations: dict[str, float]
    wave_accesses: float
    accesses: float
    accessed_bytes: float
    buffer_lines: float
    texture_lines: float
    fetched_lines: float
    line_bytes: int
    local_passes: float
    local_least: float
    private_bytes: float
    waves: float
    barriers: float
    lanes: float
    group_waves: int
    local_size: int
    private_size: int
    groups: int
    counted: int


def figures_of(sample: SampledLaunch, textures: Collection[str] = ()) -> Figures:
    """Returns the figures of a launch that has work-items. textures: names of parameters that stand for textures, though they are
    buffers here."""

    def is_shared(row: MemoryCounters) -> bool:
        return row.kind in SHARED

    def is_texture(row: MemoryCounters) -> bool:
        return not row.writes and (row.kind == "image" or row.name in textures)

    def is_buffer(row: MemoryCounters) -> bool:
        return is_shared(row) and not is_texture(row)

    def is_local(row: MemoryCounters) -> bool:
        return row.kind == "local"

    first = sample.parts[0][1]
    group_waves = math.ceil(first.work_items / (first.groups * first.wave_size))
    executed = sample.add(_count_executed)
    types = dict.fromkeys(name for _, counters in sample.parts for name in counters.operations)
    return Figures(
        operations={name: sample.add(lambda counters, name=name: counters.operations.get(name, 0)) for name in types},  # type: ignore[misc]
        wave_accesses=sample.add_rows(is_shared, lambda row: row.scale(row.wave_accesses)),
        accesses=sample.add_rows(is_shared, lambda row: row.reads + row.writes),
        accessed_bytes=sample.add_rows(is_shared, lambda row: row.read_bytes + row.written_bytes),
        buffer_lines=sample.add_rows(is_buffer, lambda row: row.scale(row.transactions)),
        texture_lines=sample.add_rows(is_texture, lambda row: row.scale(row.transactions)),
        fetched_lines=sample.add_rows(is_texture, lambda row: row.reads * row.wave_lines / max(1, row.wave_reads + row.held)),
        line_bytes=first.line_bytes,
        local_passes=sample.add_rows(is_local, lambda row: row.scale(row.transactions)),
        local_least=sample.add_rows(is_local, lambda row: row.scale(row.least)),
        private_bytes=sample.add_rows(lambda row: row.kind == "private", lambda row: row.read_bytes + row.written_bytes),
        waves=float(sample.groups * group_waves),
        barriers=sample.add(lambda counters: counters.barriers) * group_waves,
        lanes=executed / room if (room := sample.add(_count_room)) else 1.0,
        group_waves=group_waves,
        local_size=sample.local_bytes,
        private_size=sample.private_bytes,
        groups=sample.groups,
        counted=sample.counted,
    )


def _count_executed(counters: LaunchCounters) -> int:
    return counters.traced_branches + sum(row.traced for row in counters.memory)


def _count_room(counters: LaunchCounters) -> int:
    """Returns how many work-items could have taken part in what waves executed."""
    return counters.wave_size * (counters.wave_branches + sum(row.wave_accesses for row in counters.memory))
