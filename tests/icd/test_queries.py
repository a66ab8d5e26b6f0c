"""Queries whose answers a program can check by making what it asked about, on the server of a run."""

from __future__ import annotations

from pathlib import Path

from shim_clients import compile_client, simulate


def test_requirements_of_images_and_private_memory(tmp_path: Path) -> None:
    done = simulate("run", "--device", "sim:adreno-740", "--", compile_client("queries", tmp_path))
    # those that it says are wrong are refused, and are findings
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error: call-refused: clCreateImage gives ") == 4, done.stderr
