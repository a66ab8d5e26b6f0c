"""Random programs of kernels and subgraphs: every planner gives NumPy's results, and no reader finds another's bytes."""

import pytest

from .compare import find_difference


@pytest.mark.parametrize("seed", range(9000, 9006))
def test_random_program(seed):
    assert find_difference(seed) == ""
