"""A check builds a model's kernels while its references run, and leaves no thread where these fail."""

from __future__ import annotations

from typing import Any

import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.check import prepare
from adreno_sim.compiler.check.whole_model import references
from adreno_sim.compiler.run.builds import Builds

pytestmark = pytest.mark.tvm


@pytest.fixture
def pools() -> list[Any]:
    """Threads that build, of this test."""
    return []


@pytest.fixture
def begun(pools: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were begun ahead of whoever asks, in order; references run in this process, after the model is lowered."""
    names: list[str] = []
    begin = Builds.begin

    def note(self: Builds, asked: Any) -> None:
        names.extend(asked)
        begin(self, asked)
        pools.append(self._pool)

    monkeypatch.setattr(Builds, "begin", note)
    monkeypatch.setattr(prepare, "find_request", lambda *_: None)
    return names


def test_all_kernels_are_begun_before_the_references_are_there(begun, models, adreno, monkeypatch):
    seen: list[list[str]] = []

    def run(*args: Any) -> references.ReferenceRun:
        seen.append([*begun])
        return references.run_references(*args)

    monkeypatch.setattr(prepare, "run_references", run)
    report = adreno_sim.check(models["small"], device=adreno)
    assert report.ok
    assert len(seen[0]) == report.kernels_in_model > 1


def test_references_that_fail_leave_no_thread(begun, pools, models, adreno, monkeypatch):
    def fail(*_: Any) -> references.ReferenceRun:
        raise AdrenoSimError("no references today")

    monkeypatch.setattr(prepare, "run_references", fail)
    with pytest.raises(AdrenoSimError, match="no references today"):
        adreno_sim.check(models["small"], device=adreno)
    assert begun
    threads = [thread for pool in pools for thread in pool._threads]
    assert threads
    assert not any(thread.is_alive() for thread in threads)
