"""A few networks of the campaign."""

from __future__ import annotations

import pytest

from .compare import find_alarm


@pytest.mark.share()
@pytest.mark.parametrize("seed", [1, 1319, 1507])
# 1319: denormal floats that a root enlarges; 1507: a sum of halves whose parts are denormal in the kernel's order
def test_no_right_network_is_blamed(seed):
    assert find_alarm(seed) == ""
