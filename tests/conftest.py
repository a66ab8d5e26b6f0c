"""Fixtures for every test folder: the OpenCL oracles, snapshots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adreno_sim.results.snapshots import SnapshotFile

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the shared `oracle` module off the path

import oracle


def _open_or_skip(name: str) -> oracle.Oracle:
    try:
        return oracle.open_oracle(name)
    except oracle.OracleUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def pocl() -> oracle.Oracle:
    """PoCL on the CPU: float and integer kernels, images to 8192 wide; no half, no image from buffer."""
    return _open_or_skip("pocl")


@pytest.fixture(scope="session")
def intel() -> oracle.Oracle:
    """Intel's CPU OpenCL: half, read/write_imageh, sub-groups."""
    return _open_or_skip("intel")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-snapshots", action="store_true", help="record snapshots in golden instead of comparing (without -n)"
    )
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
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
