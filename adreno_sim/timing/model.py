"""The model: the time of a launch from its figures and the constants of a machine.

The parts of a launch do not add up, since each hides behind the others where it is shorter:

    time = launch + sqrt(throughput^2 + latency^2 + memory^2)

* throughput: the compute unit with most groups issues all its waves' multiply-adds, texel reads and the lines that these touch;
  arithmetic and texels are two pipes. Live values beyond the registers make it longer.
* latency: what a wave needs alone, once for as many waves as a unit holds at a time.
* memory: bytes through the second-level cache, and those beyond its size from memory.

Every figure and constant may be a NumPy array, so that many launches are predicted, and constants fitted, at once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .figures import LaunchFigures

WAVE = 64
"""Work-items of a wave. Of 64 and 128 this explains the times of the records better, also for halves."""

LANES = 8
"""Work-items that a wave which is not whole is rounded up to: it costs what its work-items cost."""

LINE = 64
"""Bytes of a cache line."""

VEC4 = 16
"""Bytes of a register of four floats."""

PARTS = ("throughput", "latency", "memory")


@dataclass(frozen=True)
class Machine:
    """Constants of one machine; times in seconds.

    units: compute units that take groups. slots: waves that a unit holds. multiply_add, texel, large_texel, local_pass: of a
    wave of 64 in a unit, issued. line: of a cache line that a wave touches. link: from one operation on floats to the next that
    waits for it. fetch: from an access to memory to its result. registers: vec4 of a work-item beyond which code is slow.
    cached_byte: of data through the second-level cache; memory_byte: what a byte beyond `cache` bytes takes in addition. window:
    lines that a wave touches, for each link of its chain, beyond which the first-level cache keeps none for the next; refetch:
    the share of such lines that memory then sees. launch: of a launch with nothing to do.
    """

    units: Any
    slots: Any
    multiply_add: Any
    texel: Any
    large_texel: Any
    local_pass: Any
    line: Any
    link: Any
    fetch: Any
    registers: Any
    cached_byte: Any
    memory_byte: Any
    cache: Any
    window: Any
    refetch: Any
    launch: Any


@dataclass(frozen=True)
class LaunchTime:
    """Seconds of a launch, and of the parts that it is made of, each as if it were alone; `launch` is the rest."""

    seconds: Any
    throughput: Any
    latency: Any
    memory: Any

    def find_bound(self) -> str:
        """Returns the part that decides a single launch: one of PARTS, or "launch" where the rest takes most."""
        parts = {name: float(getattr(self, name)) for name in PARTS}
        longest = max(parts, key=parts.__getitem__)
        return longest if parts[longest] > float(self.seconds) / 2 else "launch"


def predict(figures: LaunchFigures, machine: Machine) -> LaunchTime:
    """Returns the time of a launch."""
    f, m = figures, machine
    group_waves = np.ceil(f.group_items / WAVE)
    fullest = np.ceil(f.groups / m.units) * group_waves  # waves on the unit with most groups
    waves = f.groups * group_waves
    whole = np.ceil(f.group_items / LANES) * LANES / (WAVE * group_waves)
    lines = f.lines / waves
    arithmetic = m.multiply_add * f.multiply_adds * whole
    texels = (m.texel * f.texels + m.large_texel * f.large_texels) * whole + m.line * lines
    pressure = np.sqrt(1 + ((f.live_bytes / VEC4) / m.registers) ** 4)
    throughput = fullest * (np.hypot(arithmetic, texels) * pressure + m.local_pass * f.local_passes / waves)
    alone = m.link * f.chain + m.multiply_add * f.multiply_adds + m.texel * f.texels + m.large_texel * f.large_texels + m.fetch
    latency = np.maximum(fullest / m.slots, 1) * alone
    step = lines / np.maximum(f.chain, 1)
    refetched = m.refetch * waves * lines * LINE * step**4 / (step**4 + m.window**4)
    memory = m.cached_byte * (f.touched_bytes + refetched) + m.memory_byte * np.maximum(f.touched_bytes - m.cache, 0)
    seconds = m.launch + np.sqrt(throughput**2 + latency**2 + memory**2)
    return LaunchTime(seconds, throughput, latency, memory)


def stack(figures: list[LaunchFigures]) -> LaunchFigures:
    """Returns the figures of many launches as arrays."""
    return LaunchFigures(**{each.name: np.array([getattr(one, each.name) for one in figures]) for each in fields(LaunchFigures)})
