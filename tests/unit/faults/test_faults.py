"""No half file, no traceback, and the next run right: with an error of the system at each call on a file in turn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCENARIOS = {"cache": 20, "output": 12, "new_output": 8, "output_folder": 20, "journal": 12, "report": 30}
"""How many faults there are at least: fewer, and the calls are made where nothing sees them."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """faults.c as a library."""
    made = tmp_path_factory.mktemp("faults") / "faults.so"
    found = shutil.which("gcc") or shutil.which("clang")
    compiler = [found] if found else [sys.executable, "-m", "ziglang", "cc"]
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-w", str(HERE / "faults.c"), "-ldl", "-o", str(made)], check=True)
    return made


@pytest.mark.share()
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_at_each_call(name: str, library: Path, tmp_path: Path) -> None:
    more = {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT), "ADRENO_SIM_CACHE": "on"}
    done = subprocess.run(
        [sys.executable, str(HERE / "scenarios.py"), name, str(tmp_path)],
        env={**os.environ, **more}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["faults"] >= SCENARIOS[name]
