"""kill -9 of client or server, 200 times at random moments of work: the other side ends, and nothing is left behind."""

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

from adreno_sim.icd.environment import environment

MARK = "ADRENO_SIM_TEST_MARK"
TIMES, ROUNDS = 20, 10
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


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("lifetime", tmp_path_factory.mktemp("kills"))


@pytest.mark.slow
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("number", range(ROUNDS))
def test_either_side_is_killed(client: str, side: str, number: int, tmp_path: Path) -> None:
    shared, delays = set(os.listdir("/dev/shm")), random.Random(f"{side} {number}")
    for turn in range(TIMES // 2):
        mark = uuid.uuid4().hex
        folders = [tmp_path / f"{kind}-{turn}" for kind in ("reports", "temporary")]
        for folder in folders:
            folder.mkdir()
        more = {MARK: mark, "TMPDIR": str(folders[1]), **environment(checks="full", reports=str(folders[0]))}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([client, "work"], env={**os.environ, **more}, text=True, **pipes) as running:
            assert running.stdout is not None and running.stdout.readline() == "working\n"
            (server,) = set(marked(mark)) - {running.pid}
            time.sleep(delays.uniform(0, 0.2))
            os.kill(running.pid if side == "client" else server, signal.SIGKILL)
            said = running.communicate(timeout=PATIENCE)[1]
            assert running.returncode == (-signal.SIGKILL if side == "client" else 1), said
            assert ("the simulator has ended" in said) == (side == "server"), said
        assert wait_until_gone(mark) == []
        left = {path.suffix for path in folders[0].iterdir()}  # a report, or from which `run` knows that there is none
        assert left == ({".json"} if side == "client" else {".open", ".crash"})
        assert list(folders[1].iterdir()) == []
    assert set(os.listdir("/dev/shm")) <= shared
