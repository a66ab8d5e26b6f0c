"""The shim against a fake server: what the API promises on order, memory, errors, lifetimes, and how both sides end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run, run_client

ENDED = "the simulator has ended"
NOTHING_LEFT = "[] never released"


@pytest.mark.parametrize("name", ["ordering", "memory", "errors", "threads"])
def test_client(name: str, tmp_path: Path) -> None:
    done = run_client(compile_client(name, tmp_path), fake_environment(tmp_path), *(["50"] if name == "threads" else []))
    assert NOTHING_LEFT in done.stderr


@pytest.mark.slow
def test_transfers_that_staging_cannot_hold(tmp_path: Path) -> None:
    run_client(compile_client("memory", tmp_path), fake_environment(tmp_path), "large")


@pytest.fixture(scope="module")
def lifetime(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("lifetime", tmp_path_factory.mktemp("lifetime"))


LIES = """#!{python}
import os, socket, struct, sys, time
os.closerange(1, 3)
connection = socket.socket(fileno=int(sys.argv[3]))
connection.recv(1 << 16)
connection.sendall(struct.pack("<Ii", {size}, 0) + bytes(10))
time.sleep(100)
"""


@pytest.mark.parametrize("size", ["1 << 31", pytest.param("1000", marks=pytest.mark.slow)])
def test_a_reply_that_never_ends_is_not_waited_for(lifetime: str, tmp_path: Path, size: str) -> None:
    server = tmp_path / "python"
    server.write_text(LIES.format(python=sys.executable, size=size))
    server.chmod(0o755)
    began = time.monotonic()
    done = run([lifetime, "leak"], env={**os.environ, "ADRENO_SIM_PYTHON": str(server)})
    assert "the simulator ended before it answered" in done.stderr
    assert time.monotonic() - began < 60


def test_objects_that_were_never_released_are_told(lifetime: str, tmp_path: Path) -> None:
    done = run_client(lifetime, fake_environment(tmp_path), "leak")
    assert "['cl_context', 'cl_program', 'cl_command_queue', 'cl_mem'] never released" in done.stderr


def test_destructor_callbacks_come_when_no_command_uses_the_memory(lifetime: str, tmp_path: Path) -> None:
    assert NOTHING_LEFT in run_client(lifetime, fake_environment(tmp_path), "destructors").stderr


def test_a_context_is_told_of_commands_that_fail(lifetime: str, tmp_path: Path) -> None:
    said = run_client(lifetime, fake_environment(tmp_path), "notice").stderr
    assert NOTHING_LEFT in said
    assert "REFUSED" not in said


def test_a_forked_child_has_no_device_until_it_asks_for_platforms(lifetime: str, tmp_path: Path) -> None:
    assert run_client(lifetime, fake_environment(tmp_path), "fork").stderr.count(NOTHING_LEFT) == 2


def test_whoever_waits_goes_on_when_the_server_is_killed(lifetime: str, tmp_path: Path) -> None:
    assert run_client(lifetime, fake_environment(tmp_path), "server_killed").stderr.count(ENDED) == 1


@pytest.mark.parametrize("delay", ["0", "3", "10", "30", "70"])
def test_a_server_killed_amid_work_fails_calls_and_hangs_none(lifetime: str, tmp_path: Path, delay: str) -> None:
    done = run_client(lifetime, fake_environment(tmp_path, DELAY=delay), "server_killed_amid_work")
    assert done.stderr.count(ENDED) == 1


def start(lifetime: str, folder: Path) -> subprocess.Popen[str]:
    """A client that works until it is ended, in a process group of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    client = subprocess.Popen([lifetime, "work"], env=fake_environment(folder), text=True, start_new_session=True, **pipes)
    assert client.stdout is not None
    assert client.stdout.readline() == "working\n"
    return client


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_a_server_ends_when_its_client_is_killed(lifetime: str, tmp_path: Path, delay: float) -> None:
    with start(lifetime, tmp_path) as client:
        time.sleep(delay)
        client.send_signal(signal.SIGKILL)
        assert "fake server: end" in client.communicate(timeout=60)[1]  # standard error closes with the server


def test_ctrl_c_is_for_the_client_alone(lifetime: str, tmp_path: Path) -> None:
    with start(lifetime, tmp_path) as client:
        os.killpg(client.pid, signal.SIGINT)
        assert "fake server: end" in client.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    ("python", "told"),
    [
        ("/nowhere/python", "/nowhere/python is not a program; ADRENO_SIM_PYTHON names"),
        ("/bin/false", "ended before it answered"),
    ],
)
def test_a_server_that_does_not_start_is_told_once(lifetime: str, tmp_path: Path, python: str, told: str) -> None:
    done = run([lifetime, "leak"], env={**os.environ, "ADRENO_SIM_PYTHON": python})
    assert done.returncode == 1
    assert "clGetPlatformIDs(1, &platform" in done.stderr
    assert "is -1001, not 0" in done.stderr
    assert [line for line in done.stderr.splitlines() if told in line and line.startswith("adreno-sim: ")]
    assert done.stderr.count("adreno-sim: ") == 1
