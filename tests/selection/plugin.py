"""The options of this test suite that decide which tests run, and in which order processes get them."""

from __future__ import annotations

import gc
import re
from typing import Any

import pytest
from selection import rewriting
from selection.choice import choose, sort_files, split_files
from selection.durations import Durations, split_id
from selection.families import draw_families


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("selection", "which tests run")
    group.addoption(
        "--complete", action="store_true", help="run every test function; without it, and without paths or -k, the fast set"
    )
    group.addoption("--shard", type=parse_shard, metavar="I/N", help="run the I-th of N groups of files that take the same time")
    group.addoption(
        "--record-durations", action="store_true", help="write the seconds of each test to tests/selection/durations.json"
    )


def parse_shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"--shard: expected I/N with 1 <= I <= N, as 2/3, got {text!r}")
    return int(found[1]), int(found[2])


SETS = {
    "fast": "the fast set; --complete runs every test function",
    "complete": "every test function; --slow runs every item of each",
    "named": "every test that is named",
}


class Selection:
    """Leaves out what was not asked for, before the tests run. Each process of xdist comes to the same choice by itself."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._durations = Durations.read()
        self._measured: dict[str, float] = {}
        self._skipped: set[str] = set()
        self._set = self._worker["set"] if self._worker is not None else name_set(config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a process of xdist, whose own command line names paths, which set runs."""
        node.workerinput["set"] = self._set

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Compile a part of the modules before all are imported, if other processes compile the other parts."""
        if self._worker is not None and self._set != "named":
            number = int(self._worker["workerid"].removeprefix("gw"))
            rewriting.compile_part(self._config, number, self._worker["workercount"])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = {item.nodeid for item in items}
        if self._set == "complete":
            kept = draw_families(items, self._durations)
        if self._set == "fast":
            marked = {split_id(item.nodeid) for item in items if item.get_closest_marker("representative")}
            quick = [item.nodeid for item in items if not item.get_closest_marker("slow")]
            kept = choose(quick, self._durations, marked)
        if shard := config.getoption("shard"):
            files = split_files([item.nodeid for item in items if item.nodeid in kept], self._durations, shard[1])[shard[0] - 1]
            kept = {node for node in kept if split_id(node)[0] in files}
        if left := [item for item in items if item.nodeid not in kept]:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item.nodeid in kept]
        if self._worker is not None:  # --no-loadscope-reorder hands files out in this order
            order = {file: index for index, file in enumerate(sort_files([item.nodeid for item in items], self._durations))}
            items.sort(key=lambda item: order[split_id(item.nodeid)[0]])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """No collection of cycles walks what lives until the end: ten thousand tests and their modules."""
        gc.collect()
        gc.freeze()

    def pytest_report_header(self) -> str:
        return f"selection: {SETS[self._set]}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._measured[report.nodeid] = self._measured.get(report.nodeid, 0.0) + report.duration
        if report.skipped:
            self._skipped.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if self._worker is None and self._config.getoption("record_durations"):
            self._durations.update((node, seconds) for node, seconds in self._measured.items() if node not in self._skipped)
            self._durations.write(self._config.rootpath)


def name_set(config: pytest.Config) -> str:
    """Which of `SETS` the command line asks for: whoever names tests, by path or expression, or the slow ones gets them all."""
    named = config.args_source == pytest.Config.ArgsSource.ARGS or config.option.keyword or config.option.markexpr
    if named or config.getoption("slow", default=False):
        return "named"
    return "complete" if config.getoption("complete") else "fast"
