"""A pytest plugin: run the tests that the file named in MUTANT_TESTS lists, in its order, or note what runs with none on.

With MUTANT_SURVEY=FILE it keeps the fast set, and one test of each other function unless MUTANT_FAST_ALONE is set. It writes
which tests there are to FILE, and after each test how it ended to FILE.outcomes: a run that does not end is of use too.
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LISTED:
        order = {node: index for index, node in enumerate(json.loads(Path(LISTED).read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])
        return
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    everything = [item.nodeid for item in items]
    marked = {split_id(item.nodeid) for item in items if item.get_closest_marker("representative")}
    fast = choose(everything, Durations.read(), marked)
    if SURVEY and not Path(SURVEY).exists():  # every process of xdist collects the same
        part = Path(f"{SURVEY}.{os.getpid()}")
        part.write_text(json.dumps({"everything": everything, "fast": sorted(fast)}))
        part.replace(SURVEY)
    covered = {split_id(node) for node in fast}
    kept = []
    for item in items:
        if item.nodeid in fast or (not FAST_ALONE and split_id(item.nodeid) not in covered):
            kept.append(item)
            covered.add(split_id(item.nodeid))
    items[:] = kept


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if SURVEY and "PYTEST_XDIST_WORKER" not in os.environ and (report.when == "call" or report.outcome != "passed"):
        with Path(f"{SURVEY}.outcomes").open("a") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + "\n")
