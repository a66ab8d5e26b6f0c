"""The generator's modules are a package of their own, which run.py imports too."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(autouse=True)
def nothing_on_disk(monkeypatch):
    """No kernel comes twice, and thousands of entries make each look at the cache's size slow."""
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
