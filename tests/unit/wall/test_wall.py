"""What a process behind the wall cannot do, and what it still can; each tried by a process that enters it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.wall import enter as wall
from adreno_sim.base.wall import landlock
from adreno_sim.base.wall.variables import is_kept

needs_landlock = pytest.mark.skipif(landlock.find_version() == 0, reason="this kernel has no Landlock")

PREAMBLE = """
import json, os, signal, socket, subprocess, sys, tempfile
from pathlib import Path
from adreno_sim.base import disk_cache, output_file
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.wall.enter import Openings, enter
from adreno_sim.base.wall.outputs import begin_keeper
from adreno_sim.frontend.sandbox import find_compiler

folder = Path(sys.argv[1])

def tried(action):
    try:
        action()
    except (OSError, AdrenoSimError) as error:
        return type(error).__name__
    return "done"

begin_keeper([folder / "out" / "named.json", folder / "none" / "named.json", folder / "out" / "made"], folder / "scratch")
missing = enter(Openings((folder / "in", *sorted(folder.glob("odd/*"))), (folder / "scratch",), tuple(find_compiler())))
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("in", "out", "scratch", "home", "cache"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "cache" / "driver").mkdir(mode=0o700)
    for path in ("in/model", "home/secret", "out/beside", "out/named.json"):
        (tmp_path / path).write_text("as it was")
    return tmp_path


def behind(folder: Path, code: str, **variables: str) -> dict:
    """What code behind the wall leaves in `found`."""
    script = PREAMBLE + textwrap.dedent(code) + "\nprint(json.dumps(found))\n"
    environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": str(folder / "cache"), "ADRENO_SIM_CACHE": "on", **variables}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs_landlock
def test_files_outside_are_closed(folder):
    found = behind(folder, """
        found = {
            "missing": missing,
            "input": tried(lambda: (folder / "in" / "model").read_text()),
            "secret": tried(lambda: (folder / "home" / "secret").read_text()),
            "list": tried(lambda: os.listdir(folder / "home")),
            "shadow": tried(lambda: open("/etc/shadow").read()),
            "change input": tried(lambda: (folder / "in" / "model").write_text("x")),
            "beside": tried(lambda: (folder / "out" / "beside").write_text("x")),
            "new": tried(lambda: (folder / "out" / "new").write_text("x")),
            "remove": tried(lambda: (folder / "out" / "beside").unlink()),
            "rename": tried(lambda: os.rename(folder / "out" / "beside", folder / "scratch" / "beside")),
            "link": tried(lambda: os.link(folder / "home" / "secret", folder / "scratch" / "secret")),
            "symbolic": tried(lambda: open(os.symlink("../home/secret", folder / "scratch" / "s") or folder / "scratch" / "s")),
            "mode": tried(lambda: os.chmod(folder / "home" / "secret", 0o777)),
            "scratch": tried(lambda: (folder / "scratch" / "x").write_text("x")),
            "cache": tried(lambda: disk_cache.store(disk_cache.folder("objects") / "b", b"x")),
            "driver": tried(lambda: (disk_cache.folder("driver") / "libOpenCL.so").write_text("x")),
            "kept": disk_cache.load(disk_cache.folder("objects") / "b") == b"x",
        }
    """)  # fmt: skip
    assert found.pop("missing") == ""
    assert found.pop("kept") is True
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done == {"input", "scratch", "cache"}, found
    assert set(found.values()) == {"done", "PermissionError"} or set(found.values()) <= {"done", "PermissionError", "OSError"}
    assert (folder / "out" / "beside").read_text() == (folder / "home" / "secret").read_text() == "as it was"


@needs_landlock
def test_an_input_that_cannot_be_opened_leaves_the_others_closed(folder, monkeypatch):
    """A folder of somebody else may have anything beside its model: the wall must not end at that."""
    (folder / "odd").mkdir()
    monkeypatch.chdir(folder / "odd")
    os.symlink("circle", "circle")
    os.symlink("nowhere", "dangling")
    os.symlink("x" * 255 + "/x", "through nothing")
    os.symlink("y" * 300, "too long")
    os.symlink("pipe/x", "below a file")
    os.mkfifo("pipe")
    Path("model").write_text("as it was")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    found = behind(folder, """
        found = {
            "missing": missing,
            "model": tried(lambda: (folder / "odd" / "model").read_text()),
            "beside": tried(lambda: (folder / "out" / "beside").read_text()),
            "secret": tried(lambda: (folder / "home" / "secret").read_text()),
            "change": tried(lambda: (folder / "odd" / "model").write_text("x")),
        }
    """)  # fmt: skip
    outcomes = [found.pop(name) for name in ("missing", "model")]
    assert outcomes == ["", "done"]
    assert set(found.values()) == {"PermissionError"}


@needs_landlock
def test_no_program_but_the_compiler_starts(folder):
    found = behind(folder, """
        from adreno_sim.frontend.driver import compile_c
        program = folder / "scratch" / "program"
        program.write_bytes(Path("/bin/true").read_bytes())
        found = {
            "shell": tried(lambda: subprocess.run(["/bin/sh", "-c", "true"])),
            "python": tried(lambda: subprocess.run([sys.executable, "-c", ""])),
            "own": tried(lambda: subprocess.run([str(program)])),
            "compiler": len(compile_c("int f(int x) { return x + 1; }", ("-O1",))) > 100,
        }
    """)  # fmt: skip
    assert found == {"shell": "PermissionError", "python": "PermissionError", "own": "PermissionError", "compiler": True}


def test_no_socket_opens_and_those_there_were_go_on(folder):
    found = behind(folder, """
        one, other = socket.socketpair()
        one.sendall(b"x")
        found = {
            "tcp": tried(lambda: socket.create_connection(("127.0.0.1", 9))),
            "unix": tried(lambda: socket.socket(socket.AF_UNIX)),
            "pair": other.recv(1) == b"x",
        }
    """)  # fmt: skip
    assert found == {"tcp": "PermissionError", "unix": "PermissionError", "pair": True}


@needs_landlock
def test_other_processes_are_out_of_reach(folder):
    found = behind(folder, """
        import ctypes
        outside = os.getppid()
        found = {
            "signal": tried(lambda: os.kill(outside, 0)),
            "memory": tried(lambda: open(f"/proc/{outside}/mem", "rb")),
            "variables": tried(lambda: open(f"/proc/{outside}/environ").read()),
            "descriptors": tried(lambda: os.readlink(f"/proc/{outside}/fd/0")),
            "ptrace": ctypes.CDLL(None).ptrace(16, outside, 0, 0),
        }
    """)  # fmt: skip
    assert found.pop("ptrace") == -1
    assert set(found.values()) == {"PermissionError"}, found


def test_variables_that_nobody_reads_are_gone(folder):
    found = behind(folder, """
        found = {
            "python": os.environ.get("AWS_SECRET_ACCESS_KEY"),
            "block": "top-secret" in Path("/proc/self/environ").read_text(),
            "kept": os.environ["ADRENO_SIM_CACHE"], "path": "PATH" in os.environ,
        }
    """, AWS_SECRET_ACCESS_KEY="top-secret")  # fmt: skip
    assert found == {"python": None, "block": False, "kept": "on", "path": True}
    assert not any(map(is_kept, ("GITHUB_TOKEN", "CI_JOB_TOKEN", "HF_TOKEN", "SSH_AUTH_SOCK", "PIP_INDEX_URL")))


def test_an_output_that_is_named_appears_whole_or_not_at_all(folder):
    found = behind(folder, """
        named = folder / "out" / "named.json"

        def fail():
            with output_file.open_output(named) as file:
                file.write(b"half")
                raise AdrenoSimError("stopped")

        made = folder / "scratch" / "made"
        made.mkdir()
        (made / "kernel.cl").write_text("kernel")
        found = {
            "failed": [tried(fail), named.stat().st_size],
            "written": [tried(lambda: output_file.write_text(named, "whole")), named.stat().st_size],
            "folder": tried(lambda: output_file.place_folder(made, folder / "out" / "made")),
            "other": tried(lambda: output_file.write_text(folder / "out" / "other.json", "x")),
            "asked": tried(lambda: output_file.keeper._ask({"open": str(folder / "out" / "beside")})),
            "no folder": tried(lambda: output_file.write_text(folder / "none" / "named.json", "x")),
            "again": tried(lambda: output_file.write_text(named, "whole again")),
        }
    """)  # fmt: skip
    assert found["failed"] == ["AdrenoSimError", len("as it was")]
    assert found["written"] == ["done", len("whole")]
    assert found["folder"] == found["again"] == "done"
    assert found["asked"] == found["no folder"] == "AdrenoSimError"
    if landlock.find_version():
        assert found["other"] == "AdrenoSimError"
    assert (folder / "out" / "named.json").read_text() == "whole again"
    assert (folder / "out" / "made" / "kernel.cl").read_text() == "kernel"
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["beside", "made", "named.json"]


def test_a_process_with_threads_is_refused(monkeypatch):
    monkeypatch.setattr(wall.os, "listdir", lambda path: ["1", "2"])
    with pytest.raises(AdrenoSimError, match="one thread, this one has 2"):
        wall.enter(wall.Openings())


def test_a_system_without_them_is_said_to_be_one(monkeypatch):
    for name in ("forget_others",):
        monkeypatch.setattr(wall.variables, name, lambda: None)
    monkeypatch.setattr(wall.capabilities, "give_up", lambda: None)
    monkeypatch.setattr(wall.resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(wall.os, "listdir", lambda path: ["1"])
    monkeypatch.setattr(wall.landlock, "call", lambda *_: (_ for _ in ()).throw(OSError(38, "not implemented")))
    monkeypatch.setattr(wall.seccomp, "restrict", lambda: False)
    said = wall.enter(wall.Openings())
    assert "no Landlock, which Linux 5.13" in said
    assert "no seccomp" in said
    assert wall.find_gaps() in said


@needs_landlock
def test_a_folder_that_is_an_output_holds_what_was_made_here_and_nothing_else(folder):
    """The process that copies it may read more than this one."""
    found = behind(
        folder,
        """
        made, out = folder / "scratch" / "made", folder / "out" / "made"
        (made / "deep").mkdir(parents=True)
        (made / "deep" / "kernel.cl").write_text("kernel")
        found = {"elsewhere": tried(lambda: output_file.place_folder(folder / "home", out))}
        found["up"] = tried(lambda: output_file.place_folder(folder / "scratch" / ".." / "home", out))
        os.symlink(folder / "home" / "secret", made / "link")
        found["link"] = tried(lambda: output_file.place_folder(made, out))
        os.unlink(made / "link")
        os.symlink(folder / "home", folder / "scratch" / "home")
        found["through"] = tried(lambda: output_file.place_folder(folder / "scratch" / "home", out))
        found["own"] = tried(lambda: output_file.place_folder(made, out))
        """,
    )
    assert found == {**dict.fromkeys(("elsewhere", "up", "link", "through"), "AdrenoSimError"), "own": "done"}
    assert [path.name for path in (folder / "out" / "made").rglob("*") if path.is_file()] == ["kernel.cl"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["beside", "made", "named.json"]


def test_limits_of_another_process_stay(folder):
    found = behind(
        folder,
        """
        import resource
        found = {"other": tried(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)))}
        found["own"] = tried(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)))
        """,
    )
    assert found == {"other": "PermissionError", "own": "done"}
