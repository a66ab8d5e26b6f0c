"""Files that a user names: a pipe without a writer, and a file that is too large, are refused and not waited for or read."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from adreno_sim.base import bounded_read
from adreno_sim.base.archive import open_zip
from adreno_sim.base.array_files import load_npy, open_npz
from adreno_sim.base.bounded_read import read_bytes


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bounded_read, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_without_a_writer_is_refused(pipe: Path) -> None:
    with pytest.raises(OSError, match="nobody has written"):
        read_bytes(pipe)


@pytest.mark.parametrize("data", [b"", b"text", bytes(1 << 20)])
def test_a_pipe_with_a_writer_is_read_to_its_end(pipe: Path, data: bytes) -> None:
    thread = threading.Thread(target=lambda: pipe.write_bytes(data))  # waits for a reader
    thread.start()
    assert read_bytes(pipe) == data
    thread.join()


def _read_npz(path: Path) -> None:
    with open_npz(str(path)):
        pass


def _read_zip(path: Path) -> None:
    with open_zip(str(path)):
        pass


@pytest.mark.parametrize("read", [load_npy, _read_npz, _read_zip])
def test_arrays_and_archives_are_files(pipe: Path, read) -> None:
    with pytest.raises(OSError, match="a pipe or a device: expected a file"):
        read(pipe)
    with pytest.raises(OSError, match="a pipe or a device: expected a file"):
        read(Path("/dev/zero"))


def test_a_large_file_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(16 << 30)
    with pytest.raises(OSError, match="17179869184 bytes, more than 16777216 bytes"):
        read_bytes(path)
    with pytest.raises(OSError, match=r"] more than 1000 bytes"):
        read_bytes(Path("/dev/zero"), 1000)


def test_files_are_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    np.save(tmp_path / "a.npy", np.arange(5))
    assert read_bytes(tmp_path / "a", 3) == b"abc"
    assert load_npy(tmp_path / "a.npy").tolist() == list(range(5))
    assert read_bytes(Path("/proc/self/stat"))
    assert read_bytes(Path(os.devnull)) == b""
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    with pytest.raises(OSError, match="null"):
        read_bytes(tmp_path / "a\0b")
