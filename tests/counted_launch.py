"""Launches with counters, and figures of waves computed from the addresses that each work-item accesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adreno_sim.backends.open import open_device
from adreno_sim.base.specs import Argument, BufferSpec, View
from adreno_sim.device.counters import LaunchCounters, MemoryCounters
from adreno_sim.device.protocol import Device
from adreno_sim.findings import Severity

WAVE, LINE, BANKS = 64, 64, 32


def open_counting(text: str = f"adreno-740,wave_size={WAVE}", **options: object) -> Device:
    return open_device(f"sim:{text}", counters=True, **options)


def upload(device: Device, array: np.ndarray) -> View:
    view = device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, array.dtype.name))
    device.write(view, array)
    return view


def count(
    device: Device,
    source: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    args: Sequence[Argument],
    options: str = "",
) -> LaunchCounters:
    """The counters of a launch of the only kernel of `source`, which must find nothing but notes."""
    program = device.build(source, options)
    (name,) = program.kernel_names()
    result = device.launch(program[name], global_size, local_size, args)
    assert all(finding.severity is Severity.NOTE for finding in result.findings)
    assert not result.failures
    assert result.counters is not None
    return result.counters


def memory(counters: LaunchCounters, name: str) -> MemoryCounters:
    (row,) = (row for row in counters.memory if row.name == name)
    return row


def lines_of(accesses: np.ndarray, nbytes: int) -> tuple[int, int, int]:
    """Accesses by waves, lines that they touch, and the least: of the byte addresses of one instruction, shape (groups, items);
    a negative address is none."""
    waves = lines = least = 0
    for group in accesses:
        for first in range(0, len(group), WAVE):
            starts = [int(address) for address in group[first : first + WAVE] if address >= 0]
            touched = {address + byte for address in starts for byte in range(nbytes)}
            waves += bool(touched)
            lines += len({byte // LINE for byte in touched})
            least += -(-len(touched) // LINE)
    return waves, lines, least


def passes_of(accesses: np.ndarray) -> tuple[int, int, int]:
    """Accesses by waves, passes of local memory, and the least: of the word numbers of one instruction, shape (groups, items)."""
    waves = passes = least = 0
    for group in accesses:
        for first in range(0, len(group), WAVE):
            words = {int(word) for word in group[first : first + WAVE] if word >= 0}
            waves += bool(words)
            passes += max((sum(word % BANKS == bank for word in words) for bank in range(BANKS)), default=0)
            least += -(-len(words) // BANKS)
    return waves, passes, least


def traced(row: MemoryCounters) -> tuple[int, int, int]:
    return row.wave_accesses, row.transactions, row.least
