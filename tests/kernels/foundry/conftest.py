"""The generator's modules are a package of their own, which run.py imports too."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(autouse=True)
def no_folder_of_the_user(monkeypatch, tmp_path):
    """Cases that keep code on disk keep it in a folder of their own."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
