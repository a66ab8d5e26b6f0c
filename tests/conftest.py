"""Fixtures for every test folder: the OpenCL oracles."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the shared `oracle` module off the path

import oracle


def _open_or_skip(name: str) -> oracle.Oracle:
    try:
        return oracle.open_oracle(name)
    except oracle.OracleUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def pocl() -> oracle.Oracle:
    """PoCL on the CPU: float and integer kernels, images to 8192 wide; no half, no image from buffer."""
    return _open_or_skip("pocl")


@pytest.fixture(scope="session")
def intel() -> oracle.Oracle:
    """Intel's CPU OpenCL: half, read/write_imageh, sub-groups."""
    return _open_or_skip("intel")
