"""Paths that a file names, confined to its own folder: links are followed first, so that none leads out.

Code that checks a path and opens it later opens by `open_below`: a link that was put there meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path


def is_below(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether `path` is the folder or is below it, links followed. False for a path that no file can have."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):  # a zero byte
        return False


def find_below(name: str | os.PathLike[str], folder: Path) -> Path | None:
    """The path that `name`, relative to `folder`, stands for, without links; None if it is not below the folder."""
    path = folder / name
    return Path(os.path.realpath(path)) if is_below(path, folder) else None


def open_below(path: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]], flags: int) -> int:
    """A descriptor of what is at `path`, below one of the folders, links followed. Raises OSError if it lies elsewhere.

    Links are resolved once. That path is checked, and opened folder by folder from the root on without following any link, so
    that the checked file is the one that is read, whoever exchanges a file or folder for a link in between.
    """
    try:
        real = Path(os.path.realpath(path))
        inside = any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
    except ValueError as error:  # a zero byte
        raise OSError(errno.EINVAL, str(error)) from None
    if not inside:
        raise OSError(errno.EACCES, "it lies outside the folder in which it must lie, links followed")
    try:
        return _open_without_links(real, flags)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise OSError(error.errno, "a link was put in its place, or in that of a folder on the way") from None


def _open_without_links(path: Path, flags: int) -> int:
    """A descriptor of the absolute path, none of whose parts is a link. Raises OSError: of a link ELOOP or ENOTDIR."""
    *parents, name = path.parts
    here = os.open(parents.pop(0) if parents else name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parents:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)
