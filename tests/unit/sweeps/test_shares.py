"""Cases that run at a time have the processors to themselves: each library takes as many threads as it sees processors."""

from __future__ import annotations

import os
import threading

import pytest

from adreno_sim.sweep import engines


@pytest.mark.parametrize(("processors", "jobs"), [(2, 1), (2, 2), (8, 3), (64, 32), (64, 64)])
def test_shares_are_whole_and_apart(processors: int, jobs: int) -> None:
    shares = engines.divide_processors(range(processors), jobs)
    assert len(shares) == jobs
    assert sorted(processor for share in shares for processor in share) == list(range(processors))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_more_jobs_than_processors_have_one_each() -> None:
    shares = engines.divide_processors((4, 7), 5)
    assert sorted(tuple(share) for share in shares) == [(4,), (4,), (4,), (7,), (7,)]


def test_fewer_cases_than_jobs_divide_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "run_case", lambda case, limit, among: os.sched_getaffinity(0))
    assert [*engines.on_this_machine(["a"], 1.0, 64)] == [("a", os.sched_getaffinity(0))]  # type: ignore[list-item]
    assert [*engines.on_this_machine([], 1.0, 64)] == []


def test_cases_run_on_their_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.sched_getaffinity(0)
    both = threading.Barrier(2)

    def run(case: str, limit: float, among: object) -> set[int]:
        both.wait(60)  # so that no thread runs two cases
        return os.sched_getaffinity(0)

    monkeypatch.setattr(engines, "run_case", run)
    found = [result for _, result in engines.on_this_machine(["a", "b"], 1.0, 2)]  # type: ignore[list-item]
    expected = engines.divide_processors(mine, 2)
    assert sorted(found, key=sorted) == sorted(expected, key=sorted)
    assert os.sched_getaffinity(0) == mine
