"""The model: the time of a launch from its figures and the constants of a machine.

The parts of a launch do not add up, since each hides behind the others where it is shorter:

    time = launch + barriers + sqrt(throughput^2 + latency^2 + memory^2)

* throughput: the compute unit with most groups issues all its waves' multiply-adds, texel reads and the lines that these touch;
  arithmetic and texels are two pipes. Both wait where all waves that the unit holds wait, which few waves do more often.
* latency: what a wave needs alone, once for as many waves as a unit holds at a time: those that find slots and registers.
* barriers: each stops a unit.
* memory: lines of buffers and distinct bytes of textures through the second-level cache, and bytes beyond its size from memory.

Every figure and constant may be a NumPy array, so that many launches are predicted, and constants fitted, at once.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..records import dataclass
from .figures import LaunchFigures

WAVE = 64
"""Work-items of a wave. Of 64 and 128 this explains the times of the records better, also for halves."""

LANES = 32
"""Work-items that a wave which is not whole is rounded up to: of 8, 16, 32 and 64, this explains times and ranks best."""

SMOOTH = 4
"""How sharply a part takes over where it exceeds another: of 2, 3, 4 and a maximum, this explains the times of the records and of
an Adreno 640 together best."""

INTEGER = 0.25
"""Multiply-adds that an operation on integers costs. Most are indices, which counters see before a compiler shares and hoists
them; times of the records are explained as well with anything from 0 to 0.5."""

LINE = 64
"""Bytes of a cache line."""

VEC4 = 16
"""Bytes of a register of four floats."""

PARTS = {
    "operations": "operations",
    "textures": "texture reads",
    "local": "local memory",
    "barriers": "barriers",
    "latency": "latency",
    "buffers": "buffer lines",
    "misses": "texture misses",
    "dram": "DRAM",
}
"""What may bound a launch, by the field of `LaunchTime` that holds its time."""


@dataclass(frozen=True)
class Machine:
    """Constants of one machine; times in seconds.

    units: compute units that take groups. slots: waves that a unit holds at most. file: registers of four floats that a unit has
    for each lane, which its waves share; registers: of these that a work-item can have, what is beyond being in memory. idle: how
    long the pipes of a unit wait beside their work where it holds one wave; of n waves the n-th part.
    multiply_add, texel, large_texel, local_pass: of a wave of 64 in a unit, issued. line: of a line of a texture that a wave
    touches. link: from one operation on floats to the next that waits for it. wait: from a read of memory to its result. barrier:
    of a group in a unit, whatever else there is to do. start: of a wave, until it has done what every wave does.
    cached_byte: of data through the second-level cache; memory_byte: what a byte beyond `cache` bytes takes in addition. window:
    lines that a wave touches, for each link of its chain, beyond which the first-level cache keeps none for the next; refetch:
    the share of such lines that memory then sees. launch: of a launch with nothing to do.
    """

    units: Any
    slots: Any
    file: Any
    idle: Any
    multiply_add: Any
    texel: Any
    large_texel: Any
    local_pass: Any
    line: Any
    link: Any
    wait: Any
    barrier: Any
    start: Any
    registers: Any
    cached_byte: Any
    memory_byte: Any
    cache: Any
    window: Any
    refetch: Any
    launch: Any

    @property
    def operations_per_second(self) -> Any:
        """The most operations on floats that all units do in a second."""
        return 2 * WAVE * self.units / self.multiply_add

    @property
    def bytes_per_second(self) -> Any:
        """The most bytes that memory beyond the caches gives in a second."""
        return 1 / (self.cached_byte + self.memory_byte)


@dataclass(frozen=True)
class LaunchTime:
    """Seconds of a launch, and of the parts that it is made of, each as if it were alone.

    operations, textures, local: issued; textures with the lines that they touch. buffers, misses: through the second-level cache,
    of buffers and of textures; dram: what is beyond it. launch: of a launch with nothing to do.
    """

    seconds: Any
    launch: Any
    operations: Any
    textures: Any
    local: Any
    barriers: Any
    latency: Any
    buffers: Any
    misses: Any
    dram: Any

    def find_bound(self) -> str:
        """Returns what decides a single launch: one of the words of PARTS, or "launch" where that takes most."""
        parts = {word: float(getattr(self, name)) for name, word in PARTS.items()}
        longest = max(parts, key=parts.__getitem__)
        return longest if parts[longest] > float(self.launch) else "launch"


def predict(figures: LaunchFigures, machine: Machine) -> LaunchTime:
    """Returns the time of a launch."""
    f, m = figures, machine
    group_waves = np.ceil(f.group_items / WAVE)
    fullest = np.ceil(f.groups / m.units) * group_waves  # waves on the unit with most groups
    waves = f.groups * group_waves
    whole = np.ceil(f.group_items / LANES) * LANES / (WAVE * group_waves)
    lines = f.lines / waves
    arithmetic = m.multiply_add * (f.multiply_adds + INTEGER * f.integers) * whole
    texels = (m.texel * f.texels + m.large_texel * f.large_texels) * whole + m.line * (f.lines - f.buffer_lines) / waves
    live = np.maximum(f.live_bytes / VEC4, 1)
    held = np.minimum(m.slots, m.file / np.minimum(live, m.registers))  # waves in a unit
    waiting = 1 + m.idle / np.minimum(fullest, held)
    issued = fullest * np.sqrt(1 + (live / m.registers) ** (2 * SMOOTH))  # more where values are in memory
    local = fullest * m.local_pass * f.local_passes / waves
    barriers = np.ceil(f.groups / m.units) * f.barriers * m.barrier
    throughput = waiting * issued * np.hypot(arithmetic, texels) + local
    issued_alone = m.multiply_add * f.multiply_adds + m.texel * f.texels + m.large_texel * f.large_texels
    alone = m.link * f.chain + m.wait * f.waits + issued_alone + m.start
    latency = (1 + (fullest / held) ** SMOOTH) ** (1 / SMOOTH) * alone
    step = lines / np.maximum(f.chain, 1)
    refetched = m.refetch * waves * lines * LINE * step**4 / (step**4 + m.window**4)
    buffer_bytes, beyond = LINE * f.buffer_lines, np.maximum(f.touched_bytes - m.cache, 0)
    buffers = m.cached_byte * buffer_bytes
    misses = m.cached_byte * (np.maximum(f.touched_bytes - buffer_bytes, 0) + refetched)
    memory = buffers + misses + m.memory_byte * beyond
    return LaunchTime(
        seconds=m.launch + barriers + np.sqrt(throughput**2 + latency**2 + memory**2),
        launch=m.launch + 0.0 * f.groups,
        operations=issued * arithmetic,
        textures=issued * texels,
        local=local,
        barriers=barriers,
        latency=latency,
        buffers=buffers,
        misses=misses,
        dram=(m.cached_byte + m.memory_byte) * beyond,
    )


def stack(figures: list[LaunchFigures]) -> LaunchFigures:
    """Returns the figures of many launches as arrays."""
    return LaunchFigures(**{each.name: np.array([getattr(one, each.name) for one in figures]) for each in fields(LaunchFigures)})
