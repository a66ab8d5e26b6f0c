"""Folders for temporary files that do not outlive their process for long, however it ends.

A folder is locked by the process that made it. Where it cannot remove the folder itself, killed with SIGKILL, the lock goes with
it, and the next process that makes a folder beside it removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "adreno-sim-scratch-"
_ATTEMPTS = 100
"""How often a folder is made that others remove at once: each process looks for abandoned folders one time."""


@contextlib.contextmanager
def scratch_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder, removed behind the block. kind: a word of its name. parent: where it lies (default: the system's folder for
    temporary files). Raises OSError if none can be made."""
    folder, lock = _make(kind, parent)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def make_scratch_folder(kind: str) -> Path:
    """A new folder, removed when this process ends. Raises OSError."""
    folder, lock = _make(kind, None)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a child by fork
            _remove(folder, lock)

    atexit.register(remove)
    return folder


def find_no_folder() -> str:
    """Why this process can have no temporary file, "" if it can."""
    try:
        tempfile.gettempdir()
    except OSError as error:
        return f"no temporary file can be written: {error.strerror or error}; TMPDIR names a folder for them"
    return ""


def _make(kind: str, parent: Path | None) -> tuple[Path, int]:
    """A folder and the descriptor that locks it."""
    around = parent or Path(tempfile.gettempdir())
    remove_abandoned(around)
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=around))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # another process took it for abandoned before it was opened
            continue
        with contextlib.suppress(OSError):  # a file system without locks: nobody else gets this one either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)  # the same before it was locked
    raise FileNotFoundError(errno.ENOENT, f"removed by another process as soon as it is made, {_ATTEMPTS} times", str(folder))


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


@functools.cache
def remove_abandoned(parent: Path | None = None) -> None:
    """Remove the folders in `parent` (default: the system's folder for temporary files) that processes of this user left which
    were killed. Once in a process is enough."""
    try:
        found = [entry.path for entry in os.scandir(parent or tempfile.gettempdir()) if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):  # it is locked, another user's, or gone meanwhile
            _remove_if_abandoned(path)


def _remove_if_abandoned(path: str) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
