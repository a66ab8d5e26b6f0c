"""Which work-groups stand for a launch: each kind of place in the NDRange is there, and each group has one stratum."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.device.group_sample import MOST, choose_groups


def places(grid: tuple[int, int, int], linear: int) -> tuple[int, int, int]:
    x, rest = linear % grid[0], linear // grid[0]
    return x, rest % grid[1], rest // grid[1]


def kind(grid: tuple[int, int, int], linear: int) -> tuple[int, ...]:
    """Along each axis: 0 for the first, 2 for the last, 1 between."""
    return tuple(0 if at == 0 else 2 if at == size - 1 else 1 for at, size in zip(places(grid, linear), grid, strict=True))


def test_corners_edges_and_what_is_between() -> None:
    found = choose_groups((10, 6, 1))
    assert [stratum.groups for stratum in found] == [32, 8, 8, 4, 4, 1, 1, 1, 1]
    assert sorted(stratum.chosen for stratum in found if stratum.groups == 1) == [(0,), (9,), (50,), (59,)]
    assert sum(len(stratum.chosen) for stratum in found) == MOST


@pytest.mark.parametrize("grid", [(1, 1, 1), (32, 1, 1), (4, 4, 2), (2, 2, 2), (1, 8, 4)])
def test_a_small_launch_is_counted_whole(grid: tuple[int, int, int]) -> None:
    found = choose_groups(grid)
    assert sorted(itertools.chain(*(stratum.chosen for stratum in found))) == list(range(grid[0] * grid[1] * grid[2]))


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(1, 40)] * 3), st.integers(1, 64))
def test_strata_part_the_launch(grid: tuple[int, int, int], most: int) -> None:
    found = choose_groups(grid, most)
    assert sum(stratum.groups for stratum in found) == grid[0] * grid[1] * grid[2]
    assert [stratum.groups for stratum in found] == sorted((stratum.groups for stratum in found), reverse=True)
    for stratum in found:
        assert stratum.chosen
        assert len({kind(grid, linear) for linear in stratum.chosen}) == 1
        assert list(stratum.chosen) == sorted(set(stratum.chosen))
        assert len(stratum.chosen) <= stratum.groups
    assert len({kind(grid, stratum.chosen[0]) for stratum in found}) == len(found)
    assert sum(len(stratum.chosen) for stratum in found) <= max(most, len(found))
