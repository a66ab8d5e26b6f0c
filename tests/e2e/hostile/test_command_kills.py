"""Some of the kills of `kills.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.kills import COMMANDS, campaign

pytestmark = pytest.mark.e2e


@pytest.mark.slow
def test_every_command_is_killed(tmp_path: Path) -> None:
    assert all(campaign(20, 1, list(COMMANDS), tmp_path).values())
