"""The cost of a function: the documented sum of its counters by which candidates are ranked where no device times them.

docs/tuning.md states the formula, where each weight comes from, and what it cannot know. It was never compared with hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...device.protocol import Device
from ...engine.abi.counting import BANK_BYTES, BANKS
from .figures import Figures

WIDE = 16
"""Bytes of a full access: 128 bits."""

HIT, MISS = 0.25, 0.75
"""A line that an access touches in a texture, and one that a wave reads for the first time, in lines of a buffer: a texture whose
lines are each read once costs as much as a buffer."""

LOCAL = 0.25
"""A pass of local memory, in bytes of a buffer for each byte of its banks."""

OPERATION = 1 / 8
"""Bytes of a buffer that an operation on a float32 costs."""

OPERATIONS = {
    "float16": 0.5, "float32": 1.0, "float64": 4.0, "special": 8.0, "int8": 0.5, "int16": 0.5, "int32": 0.5, "int64": 1.0,
    "conversion": 1.0, "compare": 0.5, "width": 0.0, "atomic": 0.0,
}  # fmt: skip
"""Operations by type, in those on a float32. Those on integers are mostly indices, which compilers share and hoist."""

WIDER = 1.0
"""The same of integers of other widths."""

BARRIER = 256.0
"""Bytes of a buffer that a wave's wait at a barrier costs."""

WAVES = 4
"""Waves on a compute unit that hide a fetch behind each other."""

PRIVATE = 512
"""Bytes of private arrays of a work-item that registers hold."""

NANOSECOND = 1e-9
"""A unit of cost as "seconds": databases of MetaSchedule have no other unit."""

LABEL = "cost by counters of the simulation, unverified against hardware"


@dataclass(frozen=True)
class Machine:
    """What the cost asks of a device besides its counters: work-items of a wave, compute units, bytes of local memory of each."""

    wave: int
    units: int
    local_bytes: int
    line_bytes: int

    @staticmethod
    def of(device: Device) -> Machine:
        """Returns the machine of a simulated device."""
        profile, limits = device.info.profile, device.info.limits
        assert profile is not None
        return Machine(
            profile.wave_size(), max(1, int(limits["MAX_COMPUTE_UNITS"])), int(limits["LOCAL_MEM_SIZE"]),
            int(profile["GLOBAL_MEM_CACHELINE_SIZE"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """The cost of a function, and the figures that decide it. Its unit is a byte of the lines that waves touch in buffers.

    buffer_bytes, texture_bytes, local_bytes, operation_bytes, barrier_bytes, spill_bytes: what each part costs, of all launches.
    Their sum, each launch's over its occupancy, is `total`.

    divergence: 1 over the share of a wave's work-items that take part; it is in operation_bytes. spill: the factor by which
    spilling raises the sum. wide_share: bytes accessed in buffers and images, over 16 for each access. lines_per_access: that an
    access of a wave touches in these. bank_conflicts: passes of local memory beyond the least. float_operations,
    integer_operations: by work-items. barriers: waits of waves. groups, counted_groups: of the launches, and those counted.
    Means over launches are weighted by their parts.
    """

    total: float
    texture_bytes: float
    buffer_bytes: float
    local_bytes: float
    operation_bytes: float
    barrier_bytes: float
    spill_bytes: float
    wide_share: float
    divergence: float
    occupancy: float
    spill: float
    lines_per_access: float
    bank_conflicts: float
    float_operations: float
    integer_operations: float
    barriers: float
    groups: float
    counted_groups: float


@dataclass(frozen=True)
class _Parts:
    """The parts of one launch, in bytes, and its occupancy."""

    figures: Figures
    buffer: float
    texture: float
    local: float
    operations: float
    barriers: float
    spill: float
    occupancy: float

    @property
    def sum(self) -> float:
        return self.buffer + self.texture + self.local + self.operations + self.barriers + self.spill


def cost(launches: Sequence[Figures], machine: Machine) -> Cost:
    """Returns the cost of running launches one after the other."""
    parts = [_parts(figures, machine) for figures in launches]

    def add(value: Callable[[_Parts], float]) -> float:
        return float(sum(map(value, parts)))

    def mean(value: Callable[[_Parts], float]) -> float:
        whole = add(lambda part: part.sum)
        return add(lambda part: part.sum * value(part)) / whole if whole else 1.0

    whole, spilled = add(lambda part: part.sum), add(lambda part: part.spill)
    accesses, waves = add(lambda part: part.figures.accesses), add(lambda part: part.figures.wave_accesses)
    return Cost(
        total=add(lambda part: part.sum / part.occupancy),
        texture_bytes=add(lambda part: part.texture),
        buffer_bytes=add(lambda part: part.buffer),
        local_bytes=add(lambda part: part.local),
        operation_bytes=add(lambda part: part.operations),
        barrier_bytes=add(lambda part: part.barriers),
        spill_bytes=spilled,
        wide_share=add(lambda part: part.figures.accessed_bytes) / max(1.0, WIDE * accesses),
        divergence=mean(lambda part: 1 / part.figures.lanes),
        occupancy=mean(lambda part: part.occupancy),
        spill=whole / (whole - spilled) if whole > spilled else 1.0,
        lines_per_access=add(lambda part: part.figures.buffer_lines + part.figures.texture_lines) / max(1.0, waves),
        bank_conflicts=add(lambda part: part.figures.local_passes - part.figures.local_least),
        float_operations=add(lambda part: _count(part.figures, ("float16", "float32", "float64", "special"))),
        integer_operations=add(lambda part: _count(part.figures, ("int8", "int16", "int32", "int64"))),
        barriers=add(lambda part: part.figures.barriers),
        groups=add(lambda part: part.figures.groups),
        counted_groups=add(lambda part: part.figures.counted),
    )


def _parts(figures: Figures, machine: Machine) -> _Parts:
    spilled = max(0.0, 1 - PRIVATE / figures.private_size) if figures.private_size else 0.0
    weighted = sum(OPERATIONS.get(name, WIDER) * count for name, count in figures.operations.items())
    return _Parts(
        figures=figures,
        buffer=figures.line_bytes * figures.buffer_lines,
        texture=figures.line_bytes * (HIT * figures.texture_lines + MISS * figures.fetched_lines),
        local=LOCAL * BANKS * BANK_BYTES * figures.local_passes,
        operations=OPERATION * weighted / figures.lanes,
        barriers=BARRIER * figures.barriers,
        spill=spilled * figures.private_bytes,
        occupancy=_occupancy(figures, machine),
    )


def _occupancy(figures: Figures, machine: Machine) -> float:
    """Returns the waves that a compute unit has at once, over those that hide a fetch; at most 1."""
    resident = figures.waves / machine.units
    if figures.local_size:
        resident = min(resident, max(1, machine.local_bytes // figures.local_size) * figures.group_waves)
    return min(1.0, resident / WAVES)


def _count(figures: Figures, types: Sequence[str]) -> float:
    return sum(figures.operations.get(name, 0.0) for name in types)
