"""Debian's chromium, headless."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the modules beside tests off the path

from devtools import CHROMIUM, OPTIONS, Browser


@pytest.fixture
def browse_file(tmp_path):
    """browse_file(path, options...) -> the document as the browser has it after the script ran."""
    if CHROMIUM is None:
        pytest.skip("needs chromium (apt-get install chromium)")

    def open_file(path, *more):
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *more, "--dump-dom", f"file://{path}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return open_file


@pytest.fixture(scope="session")
def tab(tmp_path_factory):
    """A tab that pages are clicked through in."""
    if CHROMIUM is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()
