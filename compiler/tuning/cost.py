"""A static cost, for ranking candidates where no device can be timed.

It is a rule of thumb made of public advice about Adreno, and was never compared with hardware: good for telling a schedule
that reads scalars through buffers from one that reads texels, not for telling two good schedules apart.

For each launch

    cost = (TEXTURE * texture + BUFFER * buffer + LOCAL * local) * 16 bytes * divergence * spill / occupancy

* An access moves up to 128 bits and counts as that, however little of it is used: narrow accesses are wasted ones.
* Read-only images pass the texture processor with a cache of its own, buffers only the cache behind it: BUFFER is twice
  TEXTURE. Local memory is on the chip: LOCAL is half of it.
* divergence = 1 + the share of accesses behind a condition that depends on the work-item.
* occupancy = lanes in use of the waves of a group (a group is made of whole waves) * min(1, waves of the launch /
  (compute units * WAVES)): fewer waves leave units idle, or with nothing to hide a fetch behind.
* spill = 1 + private arrays beyond PRIVATE bytes, over PRIVATE: arrays that registers do not hold go to memory.

The unit is bytes as of a perfect launch. All constants are estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...device.protocol import Device
from .footprint import WIDE, Footprint

TEXTURE, BUFFER, LOCAL = 1.0, 2.0, 0.5
WAVES = 4
"""Waves on a compute unit that hide a fetch behind each other."""

PRIVATE = 512
"""Bytes of private arrays of a work-item that registers hold."""

NANOSECOND = 1e-9
"""A unit of cost as "seconds": databases of MetaSchedule have no other unit."""

LABEL = "static cost, unverified against hardware"


@dataclass(frozen=True)
class Machine:
    """What the cost asks of a device: work-items of a wave, and compute units."""

    wave: int
    units: int

    @staticmethod
    def of(device: Device) -> Machine:
        """Of a device; a real one, whose waves are not known, is taken to have 64 work-items."""
        profile = device.info.profile
        wave = profile.wave_size() if profile is not None else 64
        return Machine(int(wave), max(1, int(device.info.limits.get("MAX_COMPUTE_UNITS") or 1)))


@dataclass(frozen=True)
class Cost:
    """The cost of a function, and what it is made of: bytes by where they lie (16 for each access), and factors weighted by
    the bytes of the launches."""

    total: float
    texture_bytes: int
    buffer_bytes: int
    local_bytes: int
    wide_share: float
    divergence: float
    occupancy: float
    spill: float


def cost(launches: Iterable[Footprint], machine: Machine) -> Cost:
    """The cost of running these launches one after the other."""
    found = list(launches)
    total = sum(_one(item, machine) for item in found)
    accesses = sum(item.accesses for item in found)
    weights = [max(1, item.accesses) for item in found] or [1]

    def mean(value: Any) -> float:
        values = [value(item) for item in found] or [1.0]
        return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)

    return Cost(
        total=total,
        texture_bytes=WIDE * sum(item.texture for item in found),
        buffer_bytes=WIDE * sum(item.buffer for item in found),
        local_bytes=WIDE * sum(item.shared for item in found),
        wide_share=sum(item.wide for item in found) / max(1, accesses),
        divergence=mean(_divergence),
        occupancy=mean(lambda item: _occupancy(item, machine)),
        spill=mean(_spill),
    )


def _one(item: Footprint, machine: Machine) -> float:
    fetched = WIDE * (TEXTURE * item.texture + BUFFER * item.buffer + LOCAL * item.shared)
    return fetched * _divergence(item) * _spill(item) / _occupancy(item, machine)


def _divergence(item: Footprint) -> float:
    return 1 + item.divergent / max(1, item.accesses)


def _spill(item: Footprint) -> float:
    return 1 + max(0, item.private_bytes - PRIVATE) / PRIVATE


def _occupancy(item: Footprint, machine: Machine) -> float:
    waves = math.ceil(item.group_items / machine.wave)
    lanes = item.group_items / (waves * machine.wave)
    return lanes * min(1.0, math.prod(item.groups) * waves / (machine.units * WAVES))
