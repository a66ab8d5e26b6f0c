"""The kernels that ci/bench measures: each runs on the simulator without findings, and half computes what float does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "ci" / "bench"))

import cases
from kernel_worker import Worker

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def worker():
    return Worker("sim:adreno-740,threads=2")


def computed(worker: Worker, kernel: str, dtype: str) -> np.ndarray:
    worker.load(cases.case_of(kernel, dtype, "small"))  # refuses a launch with an error among its findings
    (output,) = worker.outputs()
    return output


@pytest.mark.parametrize("kernel", cases.FAMILIES)
def test_half_and_float_agree(worker, kernel):
    case = cases.case_of(kernel, "half", "small")
    single, half = computed(worker, kernel, "float"), computed(worker, kernel, "half")
    rms = np.sqrt(np.mean(single**2))
    assert rms > 0
    assert np.max(np.abs(half - single)) <= case.tolerance * rms
