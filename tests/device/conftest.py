"""Real OpenCL devices, each in a child process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import adreno_sim

CHECKS = Path(__file__).with_name("opencl_checks.py")

Child = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def opencl_child() -> Child:
    """opencl_child(device, *args) runs opencl_checks.py with these arguments in a process of its own."""
    installed = importlib.util.find_spec("pyopencl") is not None

    def run(*args: str, env: dict[str, str] | None = None, code: str | None = None) -> subprocess.CompletedProcess[str]:
        if args[0].startswith("cl") and not installed:
            pytest.skip("pyopencl is not installed")
        command = [sys.executable, *(["-c", code] if code else [str(CHECKS)]), *args]
        path = os.pathsep.join(filter(None, [str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        full = {**os.environ, "PYTHONPATH": path, **(env or {})}
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=full)

    return run
