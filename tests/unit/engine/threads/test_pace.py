"""How many threads a launch gets, by how long it took before."""

from __future__ import annotations

import pytest

from adreno_sim.engine.run.workers import Pace

GROUPS = 1000


def run(pace: Pace, seconds: dict[int, float], most: int = 2, launches: int = 30) -> list[int]:
    """Launches that take these seconds by so many threads: how many each had."""
    chosen = []
    for _ in range(launches):
        count = pace.choose(most, GROUPS)
        pace.note(seconds[count], GROUPS, count)
        chosen.append(count)
    return chosen


def test_all_threads_run_what_is_not_known():
    assert Pace().choose(16, 1) == 16
    assert Pace().expected(1) is None


@pytest.mark.parametrize(("alone", "helped", "best"), [(5e-5, 9e-5, 1), (3e-4, 2e-4, 2), (2e-5, 2.1e-5, 1)])
def test_the_faster_way_is_taken_after_some_tries_of_each(alone, helped, best):
    chosen = run(Pace(), {1: alone, 2: helped})
    assert chosen[:6] == [2] * 3 + [1] * 3
    assert set(chosen[6:]) == {best}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({64: 4e-4, 16: 2e-4, 4: 1e-4, 1: 3e-4}, [64, 16, 4, 1, 4]),
        ({64: 4e-4, 16: 1e-4, 4: 2e-4, 1: 5e-4}, [64, 16, 4, 16]),
        ({64: 4e-4, 16: 2e-4, 4: 1e-4, 1: 5e-5}, [64, 16, 4, 1]),
        ({64: 1e-4, 16: 2e-4, 4: 3e-4, 1: 5e-4}, [64, 16, 64]),
    ],
)
def test_fewer_threads_are_tried_as_long_as_they_take_less(seconds, expected):
    chosen = run(Pace(), seconds, 64)
    assert list(dict.fromkeys(chosen[: 3 * len(expected)])) + [chosen[-1]] == [*dict.fromkeys(expected), expected[-1]]
    assert len(set(chosen[15:])) == 1


def test_a_long_launch_never_waits_for_one_thread():
    assert set(run(Pace(), {1: 2.0, 2: 1.0})) == {2}


def test_slow_first_launches_say_nothing():
    pace = Pace()
    run(pace, {2: 9e-4}, launches=1)
    assert set(run(pace, {1: 8e-5, 2: 5e-5})[5:]) == {2}


def test_what_becomes_slower_is_given_up():
    pace = Pace()
    assert run(pace, {1: 5e-5, 2: 7e-5})[-1] == 1
    assert run(pace, {1: 2e-4, 2: 7e-5})[-1] == 2


def test_fewer_groups_have_fewer_threads():
    pace = Pace()
    run(pace, {4: 1e-3}, 4)
    assert pace.choose(1, 1) == 1
    assert pace.choose(4, GROUPS) == 4


def test_the_shortest_time_says_what_is_expected():
    pace = Pace()
    run(pace, {1: 5e-5, 2: 9e-5})
    assert pace.expected(2 * GROUPS) == pytest.approx(1e-4)
