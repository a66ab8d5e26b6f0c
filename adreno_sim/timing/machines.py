"""Machines whose constants are known: where each comes from, and how sure it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ..base.errors import UnsupportedError
from ..profiles.profile import Profile
from ..profiles.rates import RATES
from ..records import dataclass
from .model import WAVE, Machine

RECORDS = Machine(
    units=8,
    slots=30.4,
    file=96,
    idle=0.713,
    multiply_add=8.79e-10,
    texel=5.14e-9,
    large_texel=1.24e-8,
    local_pass=5.3e-9,
    line=5.14e-10,
    link=4.9e-9,
    wait=2.57e-7,
    barrier=8.5e-8,
    start=2.59e-6,
    registers=46,
    cached_byte=1.29e-11,
    memory_byte=7.38e-12,
    cache=1.75e6,
    window=50.1,
    refetch=0.285,
    launch=4.92e-7,
)
"""The Adreno whose times TVM's tuning records have (tlc-pack/tophub, adreno_v0.02.log, 2022; it is not named). Fitted to these
times, and to every other of 80 workloads whose winners should not be slower than random schedules, since winners of a search do
not show what is bad (docs/time.md). Not fitted are the units, which were tried from 3 to 48; file, which Mesa's tables have for a
730 (freedreno_devices.py, reg_size_vec4) and an Adreno 640 shows (12 waves of 183 floats in 6 units, ArchProbe's RegCount,
https://github.com/microsoft/ArchProbe); registers, which are those 183 floats; link, which is four cycles as on a 640 (the
same); barriers, which are 70 cycles by two products of a matrix and a vector on an Adreno 620
(https://github.com/a8nova/adreno-llms, 1024 x 4608 as a buffer and as an image); and local memory, which no record uses: the 103
GB/s that six units of a 640 gave (ArchProbe's LocalMemBandwidth), a pass being 128 bytes."""

RECORDS_MHZ = 818
"""The clock by which latencies of other chips are scaled: that of an Adreno 730, whose rates are the nearest."""

ErrorClass = Literal["measured", "scaled", "guess"]

SPREAD: dict[ErrorClass, float] = {"measured": 1.2, "scaled": 2.0, "guess": 3.0}
"""The factor within which nine of ten predictions lie, either way, by what its constants are from (docs/time.md)."""

MEASURED_BY = ("time_gflops", "time_memory_mbps")
"""Rates without which nothing about a chip is known."""

_NO_CHIP = "reference"
_TEXEL_BYTES = 16


@dataclass(frozen=True)
class TimedDevice:
    """A device whose launches have predicted times. error: "measured": all its rates are its own, from a calibration; "scaled":
    the records' machine by rates that were published for the chip; "guess": by rates of related chips. spread: of SPREAD."""

    name: str
    machine: Machine
    error: ErrorClass

    @property
    def spread(self) -> float:
        """The factor within which nine of ten predictions lie, either way."""
        return SPREAD[self.error]


def machine_of_profile(profile: Profile) -> TimedDevice:
    """Returns the machine of a profile: the records' machine, scaled. UnsupportedError for a profile that is not a chip."""
    if profile.name == _NO_CHIP:
        raise UnsupportedError(
            "unsupported: time: the profile reference is not a chip; expected one of an Adreno, as sim:adreno-740"
        )
    return TimedDevice(profile.name, scale(RECORDS, {key: profile[key] for key in RATES}), _error_class(profile))


def _error_class(profile: Profile) -> ErrorClass:
    if all(profile.marks[key] == "given" for key in RATES):
        return "measured"
    known = all(profile.marks[key] != "inferred" for key in MEASURED_BY)
    return "scaled" if known else "guess"


def scale(records: Machine, rates: dict[str, int]) -> Machine:
    """Returns the machine of a chip with these rates. Registers, slots and what the first-level cache keeps stay."""
    units, slower = rates["time_units"], RECORDS_MHZ / rates["time_mhz"]
    large_texel = WAVE * _TEXEL_BYTES * units / (rates["time_texture_mbps"] * 1e6)
    texels = large_texel / records.large_texel
    cached = 1e-6 / rates["time_cache_mbps"]
    return replace(
        records,
        units=units,
        multiply_add=2 * WAVE * units / (rates["time_gflops"] * 1e9),
        texel=records.texel * texels,
        large_texel=large_texel,
        line=records.line * texels,
        local_pass=records.local_pass * slower,
        link=records.link * slower,
        wait=records.wait * slower,
        barrier=records.barrier * slower,
        start=records.start * slower,
        launch=records.launch * slower,
        cached_byte=cached,
        memory_byte=max(0.0, 1e-6 / rates["time_memory_mbps"] - cached),
        cache=float(rates["time_cache_bytes"]),
    )
