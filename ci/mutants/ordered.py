"""A pytest plugin: run the tests that the file named in MUTANT_TESTS lists, in its order, or write down which there are.

With MUTANT_SURVEY=FILE it writes after each test how that ended to FILE.outcomes: a run that does not end is of use too. Where no
tests are listed it writes to FILE which there are, which of them are the fast set, and which a survey runs: the fast set, and one
test of each other function unless MUTANT_FAST_ALONE is set.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from selection.choice import choose
from selection.durations import Durations, split_id

LISTED = os.environ.get("MUTANT_TESTS")
SURVEY = os.environ.get("MUTANT_SURVEY")

FAST_ALONE = "MUTANT_FAST_ALONE" in os.environ


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Is called when tests/conftest.py has marked what is slow."""
    if LISTED:
        order = {node: index for index, node in enumerate(json.loads(Path(LISTED).read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])
        return
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    everything = [item.nodeid for item in items]
    marked = {split_id(item.nodeid) for item in items if item.get_closest_marker("representative")}
    fast = choose(everything, Durations.read(), marked)
    covered = {split_id(node) for node in fast}
    kept = []
    for item in items:
        if item.nodeid in fast or (not FAST_ALONE and split_id(item.nodeid) not in covered):
            kept.append(item)
            covered.add(split_id(item.nodeid))
    items[:] = kept
    if SURVEY:
        found = {"everything": everything, "fast": sorted(fast), "kept": [item.nodeid for item in kept]}
        Path(SURVEY).write_text(json.dumps(found), encoding="utf-8")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if SURVEY and (report.when == "call" or report.outcome != "passed"):
        with Path(f"{SURVEY}.outcomes").open("a") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + "\n")
