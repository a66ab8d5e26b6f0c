"""The rates of a profile, by what a calibration measured."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...records import dataclass

CYCLES = 4
"""Of a product that waits for the one before, on Adreno (ArchProbe's RegCount on an Adreno 640, whose clock is 585 MHz)."""
HELD = 0.8
"""The share of a cache's rate from which a footprint fits it."""
STEP = 1.5
"""How much longer more groups must take than one, for a unit to have got a second."""
FAR = 8 << 20
"""Bytes of a footprint that no second-level cache of an Adreno holds."""
NEAR = 2048
"""Bytes from which on a footprint is read through the second-level cache."""


@dataclass(frozen=True)
class Measured:
    """What was measured, in seconds, bytes and operations.

    buffers, images: bytes a second, by footprint. groups: seconds of so many groups that compute. chains: seconds of a product
    that waits for the one before, by floats that live. flops: operations a second. launch: seconds of a launch that does nothing.
    """

    buffers: Mapping[int, float]
    images: Mapping[int, float]
    groups: Mapping[int, float]
    chains: Mapping[int, float]
    flops: float
    launch: float


def find_rates(measured: Measured) -> dict[str, int]:
    """Returns the values of a profile's keys `time_...`, all of them."""
    cache = max(rate for footprint, rate in measured.buffers.items() if NEAR <= footprint < FAR)
    far = [rate for footprint, rate in measured.buffers.items() if footprint >= FAR]
    memory = min(cache, sorted(far)[len(far) // 2])
    return {
        "time_units": find_units(measured.groups),
        "time_gflops": _whole(measured.flops / 1e9),
        "time_texture_mbps": _whole(max(measured.images.values()) / 1e6),
        "time_cache_mbps": _whole(cache / 1e6),
        "time_memory_mbps": _whole(memory / 1e6),
        "time_cache_bytes": find_cache(measured.buffers, cache),
        "time_mhz": _whole(CYCLES / min(measured.chains.values()) / 1e6),
    }


def find_units(groups: Mapping[int, float]) -> int:
    """Returns how many groups take no longer than one: each has a separate unit."""
    one = groups[min(groups)]
    found = min(groups)
    for count in sorted(groups):
        if groups[count] >= STEP * one:
            break
        found = count
    return found


def find_cache(buffers: Mapping[int, float], rate: float) -> int:
    """Returns the bytes between the last footprint that the cache gives at its rate, and the next one, or those of the last."""
    footprints = sorted(footprint for footprint in buffers if footprint >= NEAR)
    held = [footprint for footprint in footprints if buffers[footprint] >= HELD * rate]
    beyond = [footprint for footprint in footprints if footprint > held[-1]]
    return (held[-1] + beyond[0]) // 2 if beyond else held[-1]


def find_registers(chains: Mapping[int, float]) -> int | None:
    """Returns the most floats that live without making a product slower; None if even most do not."""
    usual = min(chains.values())
    slow = [live for live in sorted(chains) if chains[live] >= STEP * usual and live > min(chains)]
    return max(live for live in chains if live < slow[0]) if slow else None


def _whole(value: float) -> int:
    return max(1, math.floor(value + 0.5))
