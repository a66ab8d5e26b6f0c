"""Predicted times of networks: what schedules are chosen for convolutions, and what is added up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from time_networks import choices
from time_networks.choices import Choice, Search, Timed, compare, find_schedules
from time_networks.sums import show_growth, sum_network, sum_records, summarise
from time_records.record import CONV, Record, Split

from adreno_sim.timing.figures import LaunchFigures

ONE = Split(1, 1)
CONVOLUTION = Record(CONV, "float32", (1, 64, 32, 32), (64, 64, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), ONE, ONE, ONE, 1, 1, 1, 0.0)
SEARCH = Search(draw=3, steps=2, width=4, keep=None, jobs=1)


@pytest.fixture
def counted(monkeypatch):
    """Sizes of the launches of each function that was counted; a launch with more groups takes longer."""
    rounds = []

    def count(functions, *_):
        rounds.append(len(functions))
        return [
            [LaunchFigures(np.prod(kernel.global_size), 64, 1e4, 0, 0, 0, 0, 0, 16, 0) for kernel in kernels]
            for kernels, _ in functions
        ]

    monkeypatch.setattr(choices, "count_kernels", count)
    return rounds


def test_a_search_goes_on_from_the_best_random_schedule(counted):
    (found,), (gain,) = find_schedules([CONVOLUTION], SEARCH)
    (random,), (none,) = find_schedules([CONVOLUTION], replace(SEARCH, steps=0))
    assert none == 1.0
    assert found.seconds < random.seconds
    assert gain == pytest.approx(random.seconds / found.seconds)
    assert found.workload == CONVOLUTION.workload
    assert counted == [3, 4, 4, 3]


def test_a_space_without_schedules_has_none(counted):
    tiny = replace(CONVOLUTION, shape=(1, 4, 1, 1), weight=(4, 4, 1, 1), padding=(0, 0, 0, 0))
    assert find_schedules([tiny, CONVOLUTION], replace(SEARCH, draw=0)) == ([], [])


def test_winograd_is_compared_where_tvm_offers_it(counted):
    strided = replace(CONVOLUTION, strides=(2, 2), seconds=2.0)
    found = compare({"drawn": [CONVOLUTION], "recorded": [strided]}, SEARCH)
    assert found[CONVOLUTION.workload].winograd is not None
    assert found[CONVOLUTION.workload].measured is None
    assert found[strided.workload].winograd is None
    assert found[strided.workload].measured == 2.0


def test_sums_of_a_network():
    other = replace(CONVOLUTION, shape=(1, 64, 16, 16))
    unknown = replace(CONVOLUTION, shape=(1, 64, 8, 8))
    known = {
        CONVOLUTION.workload: Choice(Timed(1, 4), Timed(1, 3), measured=6.0),  # a kernel of 5 by its record, 3 with Winograd
        other.workload: Choice(Timed(1, 4), Timed(4, 3), measured=4.0),  # its copies cost more than Winograd saves
    }
    assert sum_network(20.0, [CONVOLUTION, other, unknown], known) == [20.0, 20.0, 19.0, 18.0]
    assert sum_network(20.0, [unknown], known) == [20.0] * 4
    text = sum_records([CONVOLUTION, CONVOLUTION, unknown], known)
    assert text.startswith("records of 2 of 3 convolutions: 12000.00 ms with copies, 10000.00 without, predicted 8000.00;")
    assert text.endswith("with Winograd 6000.00")


def test_what_a_larger_network_has_more(capsys):
    tasks = [("resnet-18", "float32"), ("resnet-34", "float32"), ("resnet-18", "float16")]
    show_growth(tasks, {})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("resnet-34 less resnet-18, float32: published 5.68 ms; records of 0 of 16 convolutions")


def test_a_common_factor_is_told_apart(capsys):
    summarise(np.array([[2.0, 1.0, 1.0, 1.0], [2.2, 1.0, 1.0, 1.0], [1.8, 1.0, 1.0, 0.5]]))
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("by the model: factor 2.000 in the median, 2.200 at the most")
    assert second.strip() == "2.000 in the median; without this the factor is 1.100, 1.111 at the most"
    assert last.strip() == "1.000 in the median; without this the factor is 1.000, 2.000 at the most"
    summarise(np.zeros((0, 4)))
    assert not capsys.readouterr().out
