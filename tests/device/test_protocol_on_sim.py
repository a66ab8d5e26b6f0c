"""The simulated device passes the very checks that real OpenCL devices pass: results, error codes, pool, shared bytes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from adreno_sim.backends.open import open_device

CHECKS = Path(__file__).with_name("opencl_checks.py")


def load_checks():
    spec = importlib.util.spec_from_file_location("opencl_checks", CHECKS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: check for name, check in vars(module).items() if name.startswith("check_") and not name.startswith("check_cl_")}


SHARED = load_checks()


@pytest.mark.parametrize("name", sorted(SHARED))
@pytest.mark.parametrize("device", ["sim:reference", "sim:adreno-740"])
def test_on_the_simulator(device, name, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["opencl_checks.py", device])
    SHARED[name](open_device(device))
