"""The server that `adreno-sim run` begins beside its command: who takes it, and that it is then as one that the shim starts."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adreno_sim.base.wall import landlock
from adreno_sim.icd.build import LOADER, build_libraries
from adreno_sim.icd.start.alike import find_passed, is_alike, read_variables

CLIENT = """\
import ctypes, glob, json, os, sys
if "landlocked" in sys.argv:
    system = ctypes.CDLL(None)
    ruleset = system.syscall(444, ctypes.byref(ctypes.c_uint64(1 << 11)), 8, 0)  # no device files are made
    if system.syscall(446, ruleset, 0):  # not root
        assert system.prctl(38, 1, 0, 0, 0) == 0 and system.syscall(446, ruleset, 0) == 0
library = ctypes.CDLL(sys.argv[1])
for stream in sys.argv[3:] if "closed" in sys.argv else ():
    os.close(int(stream))
assert library.clGetPlatformIDs(1, ctypes.byref(ctypes.c_void_p()), None) == 0
if "closed" in sys.argv:
    os._exit(0)
(file,) = glob.glob(os.environ["ADRENO_SIM_ICD_REPORTS"] + f"/process-{os.getpid()}-*.open") or [""]
server = "/proc/" + file.split("-")[-1].split(".")[0]
lines = dict(line.split(":", 1) for line in open(server + "/status"))
print(json.dumps({
    "waited": b"adreno_sim.icd" not in open(server + "/cmdline", "rb").read(),
    "walled": [lines["Seccomp"].strip(), lines["NoNewPrivs"].strip()],
    "folder": os.readlink(server + "/cwd"),
    "secret": "hidden" in open(server + "/environ", errors="replace").read(),
    "terminal": open(server + "/stat").read().rsplit(")", 1)[1].split()[4],
    "signals": [lines[name].strip() for name in ("SigIgn", "SigCgt")],
    "streams": [os.readlink(f"{server}/fd/{stream}") for stream in (1, 2)] == [os.readlink(f"/proc/self/fd/{stream}") for stream in (1, 2)],
}), file=sys.stderr)
"""  # noqa: E501 (a program)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """run(script) has `adreno-sim run` run a script of the shell in which "$@" is a client."""
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    words = [sys.executable, str(client), str(build_libraries().loader / LOADER)]

    def start(script: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "adreno_sim", "run", "--json", str(tmp_path / "report.json")]
        return subprocess.run(
            [*command, "--", "sh", "-c", script, "sh", *words],
            cwd=tmp_path,
            env={**os.environ, "SECRET": "hidden"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return start


def test_clients_that_are_alike_have_a_server_that_waited(run, tmp_path) -> None:
    """One in another environment starts its own. In all that a client, or a kernel, may depend on they are the same."""
    (tmp_path / "elsewhere").mkdir()
    done = run('HOME=/ "$@" 2>1; cd elsewhere; PYTEST_CURRENT_TEST=a "$@" 2>../2; "$@" 2>../3; exit 7')
    assert done.returncode == 7, done.stderr
    found = [json.loads((tmp_path / name).read_text().splitlines()[0]) for name in "123"]
    assert [each.pop("waited") for each in found] == [False, True, True]
    assert [each.pop("folder") for each in found] == [str(tmp_path), *[str(tmp_path / "elsewhere")] * 2]
    assert {each["secret"] for each in found} == {False}
    assert {each["streams"] for each in found} == {True}
    assert found[0] == found[1] == found[2]
    assert len(json.loads((tmp_path / "report.json").read_text())["processes"]) == 3


@pytest.mark.skipif(not landlock.find_version(), reason="this system has no Landlock")
def test_a_client_that_restricted_itself_has_a_server_of_its_own(run, tmp_path) -> None:
    """Landlock shows nowhere in /proc. Its twin is the second client above."""
    done = run('"$@" landlocked')
    assert done.returncode == 0, done.stderr
    assert '"waited": false' in done.stderr


@pytest.mark.parametrize("streams", ["1", "2", "0 1"])
def test_the_server_of_a_client_without_streams_ends(run, tmp_path, streams) -> None:
    """The connection may have the number of a stream that is closed: a server that gets it as that stream holds both ends."""
    done = run(f'"$@" closed {streams}')
    assert done.returncode == 0, done.stderr
    (process,) = json.loads((tmp_path / "report.json").read_text())["processes"]
    assert not process["failed"]


def test_the_process_beside_a_command_ends_with_it(run) -> None:
    """It is waited for, and leaves nothing that another process would have to."""
    done = run("cat /proc/$PPID/task/$PPID/children")
    assert done.returncode == 2
    children = [int(word) for word in done.stdout.split()]
    assert len(children) == 2  # with the shell
    assert not any(Path(f"/proc/{child}").exists() for child in children)


CHANGES: dict[str, Callable[[], object]] = {
    "umask": lambda: os.umask(0o177),
    "nice": lambda: os.nice(1),
    "limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (50, resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
    "scheduler": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "privileges": lambda: __import__("ctypes").CDLL(None).prctl(38, 1, 0, 0, 0),
    "folder": lambda: os.chdir("/"),  # which a server takes over
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_process_changed_is_seen(change) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as same:
        assert is_alike(same.pid, same.pid)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, preexec_fn=CHANGES[change]) as other:
        assert is_alike(other.pid, other.pid) == (change == "folder")
    assert not is_alike(other.pid, other.pid)  # it is gone


def test_an_environment_is_read_and_wiped() -> None:
    block = bytearray(b"HOME=/a=b\0TOKEN=secret\0LD_PRELOAD=x.so\0PWD=/\0no sense\0")
    size = len(block)
    assert read_variables(block) == {"HOME": "/a=b", "PWD": "/"}
    assert block == bytes(size)
    with pytest.raises(ValueError, match="HOME"):
        read_variables(bytearray(b"HOME=/\0HOME=/\0"))


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, {"PWD": "/"}),
        ({"PWD": "/b", "PYTEST_VERSION": "9"}, {"PWD": "/b", "PYTEST_VERSION": "9"}),
        ({"LANG": "C"}, None),
        ({"PYTHONUTF8": "1"}, None),
    ],
)
def test_variables_that_libraries_read_are_compared(changes, passed) -> None:
    expected = {"HOME": "/", "LANG": "de", "PWD": "/", "PYTHONSAFEPATH": "1"}
    variables = {name: text for name, text in expected.items() if name != "PYTHONSAFEPATH"}
    assert find_passed(variables | changes, expected) == passed
    del variables["HOME"]
    assert find_passed(variables | changes, expected) is None
