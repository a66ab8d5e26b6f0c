"""Digests of what files hold. Those of many files are kept on disk by the files' sizes and times, so that they are not read again
while nobody touches them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from . import disk_cache

SETTLED = 2_000_000_000
"""Nanoseconds. A file that was touched less than this ago may change once more without another time."""

_BLOCK = 1 << 20


def find_files(root: str) -> Iterator[str]:
    """The paths of all files below a folder but those that Python compiled. Links are followed, each folder once."""
    seen: set[str] = set()
    open_ = [root]
    while open_:
        folder = open_.pop()
        if (real := os.path.realpath(folder)) in seen:
            continue
        seen.add(real)
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir():
                    yield entry.path
                elif entry.name != "__pycache__":
                    open_.append(entry.path)


def digest_file(path: str | os.PathLike[str]) -> str:
    """The digest of what a file holds. Raises OSError."""
    found = hashlib.sha256()
    _add_content(found, path)
    return found.hexdigest()


def digest_files(kind: str, files: Mapping[str, str]) -> str:
    """The digest of the names and contents of files, kept among the entries of `kind`. Raises OSError.

    files: name -> path. The paths are no part of it.
    """
    stamp, newest = _stamp(files)
    place = _place(kind, stamp)
    known = disk_cache.load(place)
    if known is not None:
        return known.decode()
    begun = time.time_ns()
    found = hashlib.sha256()
    for name in sorted(files):
        found.update(f"{name}\0{os.path.getsize(files[name])}\0".encode("utf-8", "surrogateescape"))
        _add_content(found, files[name])
    digest = found.hexdigest()
    if newest < begun - SETTLED and _stamp(files)[0] == stamp:
        disk_cache.store(place, digest.encode())
    return digest


def _place(kind: str, stamp: str) -> Path:
    return disk_cache.folder(kind) / f"files-{stamp}"


def _stamp(files: Mapping[str, str]) -> tuple[str, int]:
    """A digest of the sizes and times of files, and the latest of these times. The time of the last change of status counts too,
    which nobody can set back."""
    found, newest = hashlib.sha256(), 0
    for name, path in sorted(files.items()):
        status = os.stat(path)
        newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
        line = f"{name}\0{path}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n"
        found.update(line.encode("utf-8", "surrogateescape"))
    return found.hexdigest(), newest


def _add_content(found: hashlib._Hash, path: str | os.PathLike[str]) -> None:
    with open(path, "rb") as file:
        for block in _blocks(file.fileno()):
            found.update(block)


def _blocks(handle: int) -> Iterable[bytes]:
    while block := os.read(handle, _BLOCK):
        yield block
