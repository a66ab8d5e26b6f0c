"""Folders for temporary files: gone when their process ends, or, where that was killed, when the next one begins."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adreno_sim.base.processes import scratch
from adreno_sim.base.processes.scratch import PREFIX, scratch_folder

HOLDS = """
import sys, time
from pathlib import Path
from adreno_sim.base.processes.scratch import scratch_folder
with scratch_folder("test", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def around(tmp_path, monkeypatch):
    """A folder for temporary files into which this process has not looked yet."""
    scratch.remove_abandoned.cache_clear()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def start(around):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", HOLDS, str(around)], text=True, **pipes)
    return child, Path(child.stdout.readline().strip())


def test_a_folder_goes_with_its_block(around):
    with scratch_folder("test") as folder:
        (folder / "file").touch()
        assert list(around.iterdir()) == [folder]
        assert folder.name.startswith(PREFIX + "test-")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(around.iterdir())


def test_a_folder_goes_with_its_process_and_not_with_its_forks(around):
    code = "import os; from adreno_sim.base.processes.scratch import make_scratch_folder as make\nfolder = make('test')\n"
    code += "child = os.fork()\nif child == 0: raise SystemExit\nos.waitpid(child, 0); assert folder.is_dir()"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(around)}, check=True)
    assert not list(around.iterdir())


def test_a_killed_process_leaves_its_folder_to_the_next_one(around):
    child, left = start(around)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert left.is_dir()
    with scratch_folder("test") as folder:
        assert list(around.iterdir()) == [folder]


def test_a_folder_in_use_stays_and_so_does_what_others_made(around):
    child, used = start(around)
    (around / "adreno-sim-other").mkdir()
    (around / f"{PREFIX}link").symlink_to(around / "adreno-sim-other")
    with scratch_folder("test"):
        assert used.is_dir()
    child.communicate("")
    assert sorted(path.name for path in around.iterdir()) == ["adreno-sim-other", f"{PREFIX}link"]


def test_a_folder_that_was_taken_for_abandoned_is_made_again(around, monkeypatch):
    taken, lock = [], scratch.fcntl.flock

    def lose_first(descriptor, how):
        if not taken:
            taken.extend(around.iterdir())
            taken[0].rmdir()
        lock(descriptor, how)

    monkeypatch.setattr(scratch.fcntl, "flock", lose_first)
    with scratch_folder("test") as folder:
        assert folder.is_dir()
        assert folder not in taken
        assert len(taken) == 1


def test_a_folder_that_was_removed_before_it_was_opened_is_made_again(around, monkeypatch):
    taken, make = [], scratch.tempfile.mkdtemp

    def make_and_lose_first(**words):
        folder = make(**words)
        if not taken:
            taken.append(Path(folder))
            scratch._remove_if_abandoned(folder)  # as another process that comes between
            assert not taken[0].exists()
        return folder

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", make_and_lose_first)
    with scratch_folder("test") as folder:
        assert folder.is_dir()
        assert folder not in taken
        assert len(taken) == 1


def test_a_folder_that_is_always_removed_is_an_error(around, monkeypatch):
    make = scratch.tempfile.mkdtemp

    def make_and_lose(**words):
        folder = make(**words)
        os.rmdir(folder)
        return folder

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", make_and_lose)
    with pytest.raises(OSError, match="removed by another process"), scratch_folder("test"):
        pass


STRESS = """
import sys
from pathlib import Path
from adreno_sim.base.processes import scratch
for _ in range(int(sys.argv[2])):
    scratch.remove_abandoned.cache_clear()  # as in a process of its own
    with scratch.scratch_folder("test", Path(sys.argv[1])) as folder:
        (folder / "file").touch()
        assert (folder / "file").is_file()
"""


def test_processes_that_make_and_remove_at_once(around):
    """8 processes, each of which looks for abandoned folders before it makes one: none loses its own."""
    command = [sys.executable, "-c", STRESS, str(around), "150"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    assert [child.communicate()[1] for child in running] == [""] * 8
    assert not list(around.iterdir())


def test_a_folder_for_temporary_files_that_takes_none(around):
    with pytest.raises(OSError), scratch_folder("test", around / "missing"):
        pass
