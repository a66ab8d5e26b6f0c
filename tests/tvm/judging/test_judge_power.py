"""What the judge of kernels finds: a quick campaign of ci/bench/judge_power.py, and single defects that halves would hide."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from power import rows
from power.bench import Bench, Planted, make_references, open_devices
from power.campaign import choose_problems, run_campaign
from power.problem import Defect
from power.tally import LEAST_FOUND, tally_runs

from adreno_sim.compiler.check.wide_precision_rerun import _is_same_computation
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.expected import Expected


@pytest.fixture
def run_every():
    """Runs a campaign of one problem in `step`, with what holds for any such part of all."""

    def run(step):
        problems = choose_problems(quick=True, only="")[::step]
        tally = tally_runs(run_campaign(problems, repeats=1, seed=0, say=lambda text: None))
        assert tally.runs > 100 / step
        assert tally.total.detectable > 0.8 * tally.runs
        assert not tally.alarms, tally.alarms
        assert not tally.without_rerun, tally.without_rerun
        assert tally.total.missed <= (1 - LEAST_FOUND) * tally.total.detectable, tally.misses
        return tally

    return run


def test_no_right_kernel_is_blamed_and_hardly_a_defect_passes(run_every):
    run_every(8)


@pytest.mark.slow  # one defect that no tolerance of halves finds is below
def test_the_rerun_finds_what_no_tolerance_of_halves_does(run_every):
    tally = run_every(4)
    assert tally.total.missed_by_bound > 0.05 * tally.total.detectable


@pytest.fixture
def softmax():
    """Rows of 64 halves on the simulated device."""
    problem = rows.make_softmax(64, "float16", "tree")
    device, rerun_device = open_devices()
    bench = Bench(problem, make_references([problem], Units.of_device(device.info)), device, rerun_device)
    yield bench
    bench.close()


def test_a_defect_that_halves_flush_away_is_seen_in_the_rerun(softmax):
    """Probabilities of 3e-7 and 2e-5 are exchanged; the device may take both for zero."""
    x = np.random.default_rng(0).uniform(-1, 1, (16, 64)).astype("float16")
    x[:, 10], x[:, 11] = -11, -7
    right = softmax.judge([x], Planted())
    assert not right.found
    assert not right.no_rerun
    wrong = softmax.judge([x], Planted(Defect.SWAPPED_CHANNEL, at=10))
    assert wrong.by_rerun
    assert not wrong.by_bound


def test_what_reads_bits_has_no_rerun_and_what_halves_may_round_is():
    """Results allowed to be off by 0.01: as much once more from the rerun to the device, and small numbers may be flushed."""
    value, allowed = np.array([1.0, 2.0, 1e-7]), np.array([0.01, 0.01, 2e-7])
    wide, narrow = (Expected(value.astype(dtype), value, allowed) for dtype in ("float32", "float16"))
    for got, same in (([1.015, 2, 0], True), ([1, 2, 5e-5], True), ([1, 2, 1e-4], False), ([1, 2.5, 0], False)):
        assert _is_same_computation(np.array(got, "float32"), wide, narrow, flushes=True) == same
    assert not _is_same_computation(np.array([1, 2, 5e-5], "float32"), wide, narrow, flushes=False)
