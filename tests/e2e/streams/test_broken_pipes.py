"""A command whose output nobody reads any more has no verdict: exit code 2, without a word; with a reader it has its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import handmade
import pytest

import adreno_sim

pytestmark = pytest.mark.e2e

LAUNCH = 'source = "k.cl"\nglobal_size = [4]\n[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\ndata = "ones"\n'
COMMANDS = {
    "check": ["check", "m.asim"],
    "kernel": ["kernel", "--launch", "l.toml"],
    "footprint": ["footprint", "m.asim"],
    "layout": ["layout", "image2d", "4x4"],
    "devices": ["devices", "--profile", "adreno-740"],
    "json": ["check", "m.asim", "--json", "-"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    handmade.texture().save(tmp_path / "m.asim")
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] += 1; }\n")
    (tmp_path / "l.toml").write_text(LAUNCH)
    return tmp_path


def run(folder: Path, name: str, output: int) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "adreno_sim", *COMMANDS[name]]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(words, cwd=folder, env=environment, stdout=output, stderr=subprocess.PIPE, text=True, timeout=120)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_reader_went_away(name: str, folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(folder, name, writing)
    finally:
        os.close(writing)
    assert done.returncode == 2
    assert not any(word in done.stderr for word in ("Traceback", "Exception", "BrokenPipe"))


@pytest.mark.parametrize("name", ["check", "kernel"])
def test_with_a_reader_the_verdict_counts(name: str, folder: Path) -> None:
    assert run(folder, name, subprocess.DEVNULL).returncode == 0


def test_a_limit_on_the_size_of_files_is_told(folder: Path) -> None:
    """Where the report is printed to a file."""
    limit = (300, 300)
    with open(folder / "said", "wb") as said:
        paths = os.pathsep.join([str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        words = [sys.executable, "-m", "adreno_sim", *COMMANDS["devices"]]
        done = subprocess.run(
            words,
            env={**os.environ, "PYTHONPATH": paths, "ADRENO_SIM_CACHE": "off"},
            stdout=said,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )
    assert (done.returncode, done.stderr) == (2, "error: cannot write: File too large\n")
