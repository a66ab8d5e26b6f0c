"""How many threads a launch gets, by how long it took before."""

from __future__ import annotations

import pytest

from adreno_sim.engine.run.workers import Pace

GROUPS = 1000


def run(pace: Pace, alone: float, helped: float, launches: int = 30) -> list[bool]:
    """Launches that take these seconds by one thread and by several: whether each had help."""
    chosen = []
    for _ in range(launches):
        help = pace.wants_help(GROUPS)
        pace.note(helped if help else alone, GROUPS, 2 if help else 1)
        chosen.append(help)
    return chosen


def test_nothing_is_known_of_a_kernel_at_first():
    assert Pace().wants_help(1) and Pace().expected(1) is None


@pytest.mark.parametrize(("alone", "helped", "best"), [(5e-5, 9e-5, False), (3e-4, 2e-4, True), (2e-5, 2.1e-5, False)])
def test_the_faster_way_is_taken_after_some_tries_of_each(alone, helped, best):
    chosen = run(Pace(), alone, helped)
    assert chosen[:6] == [True] * 3 + [False] * 3 and set(chosen[6:]) == {best}


def test_a_long_launch_never_waits_for_one_thread():
    assert all(run(Pace(), 2.0, 1.0))


def test_slow_first_launches_say_nothing():
    pace = Pace()
    run(pace, 9e-4, 3.9e-4, 1)
    run(pace, 9e-4, 5e-5, 2)
    run(pace, 9e-4, 5e-5, 1)
    assert set(run(pace, 8e-5, 5e-5)[2:]) == {True}


def test_what_becomes_slower_is_given_up():
    pace = Pace()
    assert run(pace, 5e-5, 7e-5)[-1] is False
    assert run(pace, 2e-4, 7e-5)[-1] is True


def test_the_shorter_way_says_what_is_expected():
    pace = Pace()
    run(pace, 5e-5, 9e-5)
    assert pace.expected(2 * GROUPS) == pytest.approx(1e-4)
