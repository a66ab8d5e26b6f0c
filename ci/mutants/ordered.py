"""A pytest plugin: run the tests that the file named in MUTANT_TESTS lists, in its order, or note what runs with none on.

With MUTANT_SURVEY=FILE it keeps the fast set, and one test of each other function, and writes which tests passed or failed.
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

outcomes: dict[str, str] = {}
everything: list[str] = []
fast: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LISTED:
        order = {node: index for index, node in enumerate(json.loads(Path(LISTED).read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])
        return
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    everything[:] = [item.nodeid for item in items]
    marked = {split_id(item.nodeid) for item in items if item.get_closest_marker("representative")}
    fast.update(choose(everything, Durations.read(), marked))
    covered = {split_id(node) for node in fast}
    kept = []
    for item in items:
        if item.nodeid in fast or split_id(item.nodeid) not in covered:
            kept.append(item)
            covered.add(split_id(item.nodeid))
    items[:] = kept


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if SURVEY and (report.when == "call" or report.outcome != "passed"):
        outcomes[report.nodeid] = report.outcome if outcomes.get(report.nodeid) != "failed" else "failed"


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # every process of xdist has collected the same
        output["mutants"] = {"everything": everything, "fast": sorted(fast)}
    elif SURVEY:
        Path(SURVEY).write_text(json.dumps({"outcomes": outcomes, "everything": everything, "fast": sorted(fast)}))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    found = getattr(node, "workeroutput", {}).get("mutants")
    if found:
        everything[:] = found["everything"]
        fast.update(found["fast"])
