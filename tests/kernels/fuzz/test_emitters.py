"""Random kernels by both emitters of the engine: the same bits, the same findings."""

from __future__ import annotations

import pytest
from fuzz import simulator
from fuzz.campaign import batches, judge_of, numbered
from fuzz.judge import program

import adreno_sim


def compare(start: int, count: int) -> list[str]:
    """Random kernels by both emitters at level bounds; where they differ."""
    wrong = []
    devices = [
        adreno_sim.open_device("sim:reference", contract="off", threads=1, cache=False, timeout=20, emitter=emitter)
        for emitter in ("scalar", "spmd")
    ]
    for numbers in batches(start, count):
        judge = judge_of(1, numbers[0])
        cases = [numbered(1, number) for number in numbers]
        built = [case.build() for case in cases]
        programs = [device.build(program([b.text for b in built], judge), judge.options) for device in devices]
        for case, one in zip(cases, built, strict=True):
            results = []
            for device, made in zip(devices, programs, strict=True):
                results.append(simulator.run(made[case.name], case, one, judge.checks, device))
            same = all(a.tobytes() == b.tobytes() for a, b in zip(results[0].outputs, results[1].outputs, strict=True))
            if not same or results[0].findings != results[1].findings:
                wrong.append(f"kernel {case.seed}: {results[0].findings} {results[1].findings}\n{one.text}")
    return wrong


@pytest.mark.parametrize("start", [0, pytest.param(100, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.slow)])
def test_random_kernels_by_both_emitters(start):
    wrong = compare(start, 12 if not start else 200)
    assert not wrong, "\n\n".join(wrong)
