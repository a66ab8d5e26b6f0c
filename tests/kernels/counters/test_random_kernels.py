"""Random kernels, counted: what they compute and find stays, and the counters are the same at both levels of checks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import adreno_sim
from adreno_sim.device.protocol import LaunchResult

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from fuzz import simulator
from fuzz.campaign import numbered
from fuzz.judge import program

SEED, KERNELS = 77, 60


class Kept:
    """A device that keeps what its last launch gave."""

    def __init__(self, **options: object):
        self.device = adreno_sim.open_device("sim:reference", contract="off", cache=False, **options)
        self.last: LaunchResult | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def launch(self, *args: Any) -> LaunchResult:
        self.last = self.device.launch(*args)
        return self.last


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KERNELS))
def test_counted_and_not(number):
    case = numbered(SEED, number)
    built = case.build()
    results, counted = [], []
    for checks, counters in (("bounds", False), ("bounds", True), ("full", True)):
        device = Kept(checks=checks, counters=counters)
        kernel = device.build(program([built.text], half=True), "-cl-std=CL2.0")[case.name]
        results.append(simulator.run(kernel, case, built, checks, device))
        counted.append(device.last)
    assert results[0].findings == results[1].findings
    outputs = [[array.tobytes() for array in result.outputs] for result in results]
    assert outputs[0] == outputs[1] == outputs[2]
    bounds, full = (result.counters for result in counted[1:])
    assert bounds is not None
    assert bounds == full
    assert not any(result.failures for result in counted)
    for row in bounds.memory:
        assert row.least <= row.transactions
        assert row.wave_accesses <= row.traced <= row.reads + row.writes
