"""Debian's chromium, headless."""

from __future__ import annotations

import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1300,1100",
    "--hide-scrollbars",
)


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
