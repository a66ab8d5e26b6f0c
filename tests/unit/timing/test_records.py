"""The model beside measured times, and winners of tuning beside random schedules: a small part of what `ci/bench/adreno_time.py`
judges, so that no change of constants or formula loses them unseen.

records.csv: figures of the three launches of a record (two copies, the convolution). `record`: with its measured time, at the
usual clock. `N won` and `N random`: schedules of workload N, of which the first won on the device.
"""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path

import numpy as np

from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.machines import RECORDS, SPREAD
from adreno_sim.timing.model import predict

LAUNCHES = 3


def read() -> list[dict[str, str]]:
    with Path(__file__).with_name("records.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def time(row: dict[str, str]) -> float:
    figures = (
        LaunchFigures(**{each.name: float(row[f"{each.name}{number}"]) for each in fields(LaunchFigures)})
        for number in range(LAUNCHES)
    )
    return sum(float(predict(one, RECORDS).seconds) for one in figures)


def test_times_are_near_what_was_measured():
    rows = [row for row in read() if row["what"] == "record"]
    measured, predicted = np.array([float(row["seconds"]) for row in rows]), np.array(list(map(time, rows)))
    off = np.exp(np.abs(np.log(measured / predicted)))
    assert len(rows) == 30
    assert np.median(off) < 1.08
    assert np.quantile(off, 0.9) < SPREAD["measured"]
    assert off.max() < 1.35
    ranks = [np.argsort(np.argsort(values)) for values in (measured, predicted)]
    assert np.corrcoef(*ranks)[0, 1] > 0.98


def test_winners_rank_before_random_schedules():
    """The share of random schedules that are predicted to be faster than the one that won."""
    workloads: dict[str, list[tuple[str, float]]] = {}
    for row in read():
        if row["what"] != "record":
            workload, what = row["what"].split()
            workloads.setdefault(workload, []).append((what, time(row)))
    places = []
    for times in workloads.values():
        ((_, won), *others) = times
        places.append(np.mean([other < won for _, other in others]))
    assert len(places) == 8, places
    assert np.median(places) == 0, places
    assert max(places) <= 0.1, places
