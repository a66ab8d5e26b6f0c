"""Launches whose groups run several as one wherever that is allowed, whatever it costs."""

from __future__ import annotations

import math

import pytest

from adreno_sim.engine.coarsen import coarse_grid, decide


@pytest.fixture
def wherever_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few groups, and no gain, are no reason against it."""
    monkeypatch.setattr(coarse_grid, "LEAST_GROUPS", 1)
    monkeypatch.setattr(decide, "_MAX_COST_RATIO", math.inf)
