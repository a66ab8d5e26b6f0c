"""Output files: whole or not at all, links followed, modes kept; what is no regular file is written through, never replaced."""

import os
import re
import stat
import subprocess
import sys
import threading
import zipfile

import handmade
import numpy as np
import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.launch_folder import WrittenLaunch, write_folder
from adreno_sim.base.output_file import find_obstacle, identify, open_output, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


HEAD = "import os, sys\nfrom adreno_sim.base.output_file import open_output, write_text\n"


def run(code: str, *arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", HEAD + code, *map(str, arguments)], text=True, timeout=60, **options)  # type: ignore[call-overload]


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path, umask):
    write_text(tmp_path / "new", "x")
    write_folder(tmp_path / "folder", WrittenLaunch("kernel", {}, []))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750


def test_a_file_keeps_its_mode_and_its_owner(tmp_path, umask):
    old = tmp_path / "old"
    old.write_text("old")
    old.chmod(0o604)
    if os.getuid() == 0:
        os.chown(old, 12345, 12346)
    before = old.stat()
    write_text(old, "new")
    after = old.stat()
    assert old.read_text() == "new"
    assert names(tmp_path) == ["old"]
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.parametrize("there", [True, False], ids=["link", "dangling link"])
def test_links_are_followed(tmp_path, there):
    (tmp_path / "folder").mkdir()
    if there:
        (tmp_path / "folder" / "file").write_text("old")
    (tmp_path / "one").symlink_to("folder/file")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert find_obstacle(tmp_path / "two") == ""
    write_text(tmp_path / "two", "new")
    assert (tmp_path / "two").is_symlink()
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "new"
    assert names(tmp_path / "folder") == ["file"]


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "links" in find_obstacle(tmp_path / "a")
    with pytest.raises(AdrenoSimError, match=r"cannot write .*a: .*links"):
        write_text(tmp_path / "a", "x")


def test_a_device_stays_what_it_is(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "full").symlink_to("/dev/full")
    write_text(tmp_path / "null", "x" * 100_000)
    handmade.branch().save(tmp_path / "null")
    with pytest.raises(AdrenoSimError, match=r"cannot write .*full: No space left"):
        write_text(tmp_path / "full", "x" * 100_000)
    assert names(tmp_path) == ["full", "null"]
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)
    assert stat.S_ISCHR((tmp_path / "full").stat().st_mode)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes device nodes")
def test_a_device_node_is_not_replaced_where_root_could(tmp_path):
    try:
        os.mknod(tmp_path / "node", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (tmp_path / "node").open("wb").close()
    except PermissionError:
        pytest.skip("no device nodes here")
    write_text(tmp_path / "node", "x")
    assert stat.S_ISCHR((tmp_path / "node").stat().st_mode)
    assert names(tmp_path) == ["node"]


@pytest.mark.parametrize("what", ["text", "bundle"])
def test_a_fifo_gets_everything(tmp_path, what):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    if what == "text":
        write_text(fifo, "x" * 200_000)
    else:
        handmade.branch().save(fifo)
    reader.join(30)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert names(tmp_path) == ["fifo"]
    if what == "text":
        assert got == [b"x" * 200_000]
    else:
        (tmp_path / "copy").write_bytes(got[0])
        assert zipfile.ZipFile(tmp_path / "copy").testzip() is None


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_behind_what_was_printed(tmp_path, path):
    (tmp_path / "link").symlink_to(path)
    for name in (path, tmp_path / "link"):
        with (tmp_path / "out").open("w") as out:
            run("print('before'); write_text(sys.argv[1], 'data\\n'); print('after')", name, stdout=out, check=True)
        assert (tmp_path / "out").read_text() == "before\ndata\nafter\n"
    piped = run("print('before'); write_text(sys.argv[1], 'data\\n'); print('after')", path, capture_output=True, check=True)
    assert piped.stdout == "before\ndata\nafter\n"


def test_a_descriptor_that_is_not_open_is_told_before(tmp_path):
    assert find_obstacle("/proc/self/fd/987") == "does not exist"
    with pytest.raises(AdrenoSimError, match="cannot write /proc/self/fd/987: Bad file descriptor"):
        write_text("/proc/self/fd/987", "x")


@pytest.fixture
def has_unnamed_files(tmp_path):
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except OSError:
        return False
    return True


def test_a_file_system_without_unnamed_files(tmp_path, monkeypatch):
    monkeypatch.setattr("adreno_sim.base.output_file.os.O_TMPFILE", os.O_DIRECTORY | os.O_EXCL | os.O_CREAT)
    write_text(tmp_path / "file", "x")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "x"


END = {
    "full disk": "from resource import *; sys.dont_write_bytecode = True\nsetrlimit(RLIMIT_FSIZE, (1000, 1000))\n"
    "write_text(sys.argv[1], 'n' * 100_000)",
    "killed": "with open_output(sys.argv[1]) as file:\n file.write(b'n'*100_000); file.flush(); os.kill(os.getpid(), 9)",
    "interrupted": "with open_output(sys.argv[1]) as file:\n file.write(b'n'*100_000); raise KeyboardInterrupt",
}


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("there", [True, False])
def test_what_was_there_stays_whole_however_writing_ends(tmp_path, end, there, has_unnamed_files):
    if there:
        (tmp_path / "file").write_text("old")
    done = run(END[end], tmp_path / "file", capture_output=True)
    assert done.returncode != 0
    assert ("cannot write" in done.stderr and "too large" in done.stderr) == (end == "full disk"), done.stderr
    left = [name for name in names(tmp_path) if end != "killed" or has_unnamed_files or not name.startswith(".adreno-sim-")]
    assert left == (["file"] if there else [])
    assert not there or (tmp_path / "file").read_text() == "old"


def test_a_new_file_never_has_another_name(tmp_path, monkeypatch, has_unnamed_files):
    """A process that is killed at any moment would leave it."""
    if not has_unnamed_files:
        pytest.skip("this file system has no files without a name")
    monkeypatch.setattr("adreno_sim.base.output_file.os.replace", None)
    write_text(tmp_path / "new", "x")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"new": "x"}


def test_two_writers_leave_one_of_both_results(tmp_path):
    code = "for n in range(100): write_text(sys.argv[1], sys.argv[2] * 50_000)"
    children = [subprocess.Popen([sys.executable, "-c", HEAD + code, str(tmp_path / "file"), letter]) for letter in "ab"]
    seen = set()
    while any(child.poll() is None for child in children):
        if (tmp_path / "file").exists():
            seen.add((tmp_path / "file").read_text())
    assert [child.returncode for child in children] == [0, 0]
    assert seen <= {"a" * 50_000, "b" * 50_000}
    assert names(tmp_path) == ["file"]


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path):
    write_text(tmp_path / ("n" * 255), "x")
    assert names(tmp_path) == ["n" * 255]


@pytest.mark.parametrize(
    "path, reason", [("", "is a folder"), ("missing/file", "folder .*missing does not exist"), ("file/x", "folder .* not exist")]
)
def test_what_is_in_the_way_is_told_before_and_when_writing(tmp_path, path, reason):
    (tmp_path / "file").write_text("old")
    assert re.match(reason, find_obstacle(tmp_path / path))
    with pytest.raises(AdrenoSimError, match="cannot write"):
        write_text(tmp_path / path, "x")
    assert find_obstacle(tmp_path / "file") == ""
    assert find_obstacle("/dev/null") == ""


def test_paths_of_one_file_are_known_as_such(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "dangling").symlink_to("new")
    (tmp_path / "folder").mkdir()
    assert identify(tmp_path / "a") == identify(tmp_path / "link") == identify(tmp_path / "hard")
    assert identify(tmp_path / "dangling") == identify(tmp_path / "folder" / ".." / "new") != identify(tmp_path / "a")
    assert identify("/dev/null") is None
    assert identify("/dev/stdout") is None


def test_a_launch_is_written_where_a_link_to_an_empty_folder_leads(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    write_folder(tmp_path / "link", WrittenLaunch("kernel", {}, [], outputs={0: np.zeros(3)}))
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "empty") == ["expected0.npy", "kernel.cl", "launch.toml"]
    assert names(tmp_path) == ["empty", "link"]


def test_an_error_of_the_block_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), open_output(tmp_path / "file"):
        raise ValueError
    assert names(tmp_path) == []
