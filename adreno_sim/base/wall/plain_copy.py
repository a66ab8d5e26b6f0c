"""Copies a folder of files and folders, following no link: not even one that is put into the place of a folder meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def copy_plain(made: Path, target: Path, within: Path) -> None:
    """Copies a folder, which is `within` or is below it, to where nothing lies. Raises OSError, also for anything in it that is
    neither a file nor a folder."""
    try:
        parts = made.relative_to(within).parts
    except ValueError:
        raise PermissionError(errno.EPERM, f"{made} does not lie below {within}") from None
    if ".." in parts:
        raise PermissionError(errno.EPERM, f"{made} does not lie below {within}")
    folder = os.open(within, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            folder = _enter(folder, part)
        _copy_into(folder, target)
    finally:
        os.close(folder)


def _enter(folder: int, name: str) -> int:
    """A folder in another one, which is closed."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)


def _copy_into(folder: int, target: Path) -> None:
    target.mkdir()
    for name in os.listdir(folder):
        entry = os.open(name, _FILE, dir_fd=folder)
        try:
            kind = os.fstat(entry).st_mode
            if stat.S_ISDIR(kind):
                _copy_into(entry, target / name)
            elif stat.S_ISREG(kind):
                with os.fdopen(os.dup(entry), "rb") as source, open(target / name, "xb") as copy:
                    shutil.copyfileobj(source, copy)
                    os.fchmod(copy.fileno(), stat.S_IMODE(kind) & 0o777)
            else:
                raise PermissionError(errno.EPERM, f"{name} is neither a file nor a folder")
        finally:
            os.close(entry)
