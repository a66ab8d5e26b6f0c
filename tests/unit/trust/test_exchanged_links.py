"""What was looked at is what is read: a link that is put in a file's place in between leads nowhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.base.array_files import write_npz
from adreno_sim.base.bounded_read import read_bytes
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.trust import confined_path
from adreno_sim.base.trust.confined_path import open_below
from adreno_sim.findings import Severity
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

SECRET = "float secret_of_the_host = 42;"
LAUNCH = """
source = "in/k.cl"
global_size = [4]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 4
data = {data}
"""
FILES = {
    "k.cl": "kernel void k(global float *a) { a[get_global_id(0)] += 1; }",
    "r.py": "def expected(a):\n    return a + 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A launch file's folder, with the same names beside it, where nothing of it may lead."""
    for place in ("own/in", "host"):
        (tmp_path / place).mkdir(parents=True)
        for name, text in FILES.items():
            (tmp_path / place / name).write_text(text if place != "host" else f"{SECRET} {text}")
        array = np.zeros(4, np.float32) + (7 if place == "host" else 0)
        np.save(tmp_path / place / "x.npy", array)
        with open(tmp_path / place / "x.npz", "wb") as file:
            write_npz(file, {"a": array})
    return tmp_path / "own"


def exchange_file(folder: Path, name: str) -> None:
    (folder / "in" / name).unlink()
    (folder / "in" / name).symlink_to(folder.parent / "host" / name)


def exchange_folder(folder: Path, name: str) -> None:
    (folder / "in").rename(folder / "was")
    (folder / "in").symlink_to(folder.parent / "host")


EXCHANGES = [exchange_file, exchange_folder]
DATA = {"k.cl": '"zeros"', "x.npy": '{file = "in/x.npy"}', "x.npz": '{file = "in/x.npz", array = "a"}', "r.py": '"zeros"'}
"""A file that is exchanged, and what the launch file's argument is then."""


def write_launch(folder: Path, name: str) -> Path:
    expected = 'expected = "in/r.py:expected"\n' if name == "r.py" else ""
    (folder / "l.toml").write_text(expected + LAUNCH.format(data=DATA[name]))
    return folder / "l.toml"


@pytest.mark.parametrize("exchange", [*EXCHANGES, None])
@pytest.mark.parametrize("name", DATA)
def test_a_link_put_there_after_the_look_is_not_followed(
    name: str, exchange: Callable[[Path, str], None] | None, folder: Path
) -> None:
    spec = read_launch(write_launch(folder, name))
    if exchange is None:
        assert not [found for found in run_launch(spec).findings if found.severity is Severity.ERROR]
        return
    exchange(folder, name)
    with pytest.raises(AdrenoSimError) as refused:
        run_launch(spec)
    assert "cannot be read: it lies outside the folder" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_nor_one_put_there_between_the_look_and_the_opening(
    exchange: Callable[[Path, str], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opening itself: the exchange takes place when the path has been found good."""
    opened = confined_path._open_without_links

    def late(path: Path, flags: int) -> int:
        exchange(folder, "k.cl")
        return opened(path, flags)

    monkeypatch.setattr(confined_path, "_open_without_links", late)
    with pytest.raises(OSError, match="a link was put in its place"):
        read_bytes(folder / "in/k.cl", below=[folder])


def test_links_that_stay_inside_are_followed(folder: Path) -> None:
    (folder / "alias").symlink_to(folder / "in")
    (folder / "alias/other.cl").symlink_to("k.cl")
    (folder.parent / "way").symlink_to(folder)
    for name in ("alias/other.cl", "alias/../in/k.cl", "in/k.cl"):
        assert read_bytes(folder.parent / "way" / name, below=[folder]) == FILES["k.cl"].encode()


REFUSED = {"../host/k.cl": errno.EACCES, "in/none": errno.ENOENT, "in/k.cl/x": errno.ENOTDIR, "in\0": errno.EINVAL}


def refuse(folder: str) -> dict[str, tuple[int, int]]:
    """Number of the error, and how many more files are open, by name."""
    found = {}
    for name in REFUSED:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError) as refused:
            open_below(Path(folder, name), [folder], os.O_RDONLY)
        found[name] = refused.value.errno or 0, len(os.listdir("/proc/self/fd")) - before
    return found


def test_what_cannot_be_opened_is_an_error_of_the_system_and_leaves_no_file_open(folder: Path) -> None:
    assert call_in_fresh_process(refuse, str(folder)) == {name: [number, 0] for name, number in REFUSED.items()}
