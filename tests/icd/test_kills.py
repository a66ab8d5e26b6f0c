"""kill -9 of client or server at random moments, 200 times: the other side ends, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from shim_clients import compile_client

from adreno_sim.base.processes.scratch import remove_abandoned
from adreno_sim.icd.environment import environment

MARK = "ADRENO_SIM_TEST_MARK"
MOMENTS = {"start": 1.2, "launch": 0.3, "map": 0.2, "build": 0.5, "wait": 0.2}
"""What the client is at, and within how many seconds the kill comes."""
KILLS = 20
PATIENCE = 60.0


def marked(mark: str) -> Iterator[int]:
    """The processes whose environment has the mark."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes():
                yield int(entry.name)
        except OSError:  # it has ended, or is another user's
            continue


def wait_until_gone(mark: str) -> list[int]:
    """Those that are left after a while."""
    end = time.monotonic() + PATIENCE
    while (left := list(marked(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def files_in(folder: Path) -> set[str]:
    """Names of all files and folders under a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("killed", tmp_path_factory.mktemp("kills"))


def kill(client: str, side: str, moment: str, delay: float, folder: Path) -> None:
    """Start a client, kill one side after `delay` seconds, and check what is left. Memory and sockets that both share have no
    names, so that they go with the processes."""
    mark = uuid.uuid4().hex
    reports, temporary, cache = (folder / name for name in ("reports", "temporary", "cache"))
    for each in (reports, temporary):
        each.mkdir(parents=True)
    more = {**environment(checks="full", reports=str(reports)), MARK: mark, "TMPDIR": str(temporary)}
    more["ADRENO_SIM_CACHE_DIR"] = str(cache)  # after `environment`, which finds the compiled driver
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([client, moment], env={**os.environ, **more}, text=True, **pipes) as running:
        try:
            if moment != "start":
                assert running.stdout is not None
                assert running.stdout.readline() == "working\n"
            time.sleep(delay)
            others = sorted(set(marked(mark)) - {running.pid})
            os.kill(running.pid if side == "client" or not others else others[0], signal.SIGKILL)
            said = running.communicate(timeout=PATIENCE)[1]
        finally:
            running.kill()
    killed_client = side == "client" or not others
    assert running.returncode == (-signal.SIGKILL if killed_client else 1), said
    assert ("the simulator has ended" in said or "ended before it answered" in said) == (not killed_client), said
    assert wait_until_gone(mark) == []
    left = {path.suffix for path in reports.iterdir()}  # a report, or from which `run` knows that there is none
    expected = {".json"} if side == "client" else {".open", ".crash"}
    assert left == expected or (moment == "start" and left <= expected), left
    if side == "server":
        remove_abandoned.__wrapped__(temporary)  # as the next server does
    assert files_in(temporary) == set()
    assert [name for name in files_in(cache) if "tmp" in name or "scratch" in name] == []


@pytest.mark.parametrize("side", ["client", "server"])
def test_either_side_is_killed(client: str, side: str, tmp_path: Path) -> None:
    kill(client, side, "build", 0.1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_either_side_is_killed_at_random_moments(client: str, side: str, moment: str, tmp_path: Path) -> None:
    delays = random.Random(f"{side} {moment}")
    for turn in range(KILLS):
        kill(client, side, moment, delays.uniform(0, MOMENTS[moment]), tmp_path / str(turn))
