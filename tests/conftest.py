"""Fixtures for every test folder: the OpenCL oracles, snapshots."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "models"))  # importlib mode leaves the shared modules off the path
sys.path.insert(0, str(Path(__file__).parent))

if (found := importlib.util.find_spec("tvm")) is not None and found.origin is None:  # the folder tests/tvm, where TVM is not
    sys.modules["tvm"] = None  # type: ignore[assignment]

from selection import rewriting

if rewriting.is_rewritten("adreno_sim"):  # told before its first module is imported
    rewriting.leave_package("adreno_sim")

import judges
import oracle
import selection.plugin
import temporary
from selection.each_value import mark_others_slow

from adreno_sim.engine.run import second_run
from adreno_sim.results.snapshots import SnapshotFile

temporary.choose_folder()
temporary.keep_bytecode()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's background jobs ignore it, and so would what tests interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["ADRENO_SIM_STRICT_ANALYSIS"] = "1"  # an analysis that fails is a defect, here and in child processes
os.environ.setdefault(second_run.SWITCH, "off")  # unasked, which launches run twice is a matter of time; `all` is asked for


@pytest.fixture
def judge(request: pytest.FixtureRequest) -> oracle.Oracle:
    """Whoever is fit to judge, PoCL before Intel's CPU OpenCL; for kernels without halves, and images not over buffers."""
    return judges.require(request.node, *oracle.NAMES)


@pytest.fixture
def intel(request: pytest.FixtureRequest) -> oracle.Oracle:
    """Intel's CPU OpenCL, for what no other driver has: half, read/write_imageh, sub-groups."""
    return judges.require(request.node, "intel")


@pytest.fixture
def pocl(request: pytest.FixtureRequest) -> oracle.Oracle:
    """PoCL as a second opinion, where Intel's judges the same in another test."""
    return judges.ask_also(request.node, "pocl")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found]
    if lines := judges.told_lines(reports):
        terminalreporter.section("judges")
        for line in lines:
            terminalreporter.write_line(line)
    if os.environ.get(second_run.SWITCH) == "all":
        counts = f"{_second_runs.same} the same, {_second_runs.undecided} undecided, {_second_runs.differing} differ"
        terminalreporter.section("second runs")
        terminalreporter.write_line(f"launches of the tests' own processes: {counts}")


_second_runs = second_run.Tally()


def pytest_sessionfinish(session: pytest.Session) -> None:
    add_tally(second_run.tally)
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["second runs"] = dataclasses.asdict(_second_runs)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Is called by xdist where a worker has ended."""
    add_tally(second_run.Tally(**getattr(node, "workeroutput", {}).get("second runs", {})))


def add_tally(other: second_run.Tally) -> None:
    for field in dataclasses.fields(other):
        setattr(_second_runs, field.name, getattr(_second_runs, field.name) + getattr(other, field.name))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-snapshots", action="store_true", help="record snapshots in golden instead of comparing (without -n)"
    )
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    selection.plugin.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(selection.plugin.Selection(config), "selection")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_others_slow(items)
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(scope="session")
def snapshot(request: pytest.FixtureRequest) -> Iterator[Callable[[str, str, object], None]]:
    """snapshot(file, name, value) fails where `value` is not what golden/data/FILE.json holds under `name`."""
    update = bool(request.config.getoption("--update-snapshots"))
    folder = Path(__file__).parent.parent / "golden" / "data"
    files: dict[str, SnapshotFile] = {}

    def check(file: str, name: str, value: object) -> None:
        found = files.setdefault(file, SnapshotFile(folder / f"{file}.json", update))
        assert not (difference := found.difference(name, value)), difference

    yield check
    for found in files.values():
        found.save()
