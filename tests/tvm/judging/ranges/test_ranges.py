"""A few networks of the campaign."""

from __future__ import annotations

import pytest

from .compare import find_alarm


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_right_network_is_blamed(seed):
    assert find_alarm(seed) == ""
