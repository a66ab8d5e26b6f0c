"""Digests of what files hold. Those of many files are kept on disk by the files' sizes and times, so that they are not read again
while nobody touches them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping

from . import disk_cache

SETTLED = 2_000_000_000
"""Nanoseconds. A file that was touched less than this ago may change once more without another time."""

_BLOCK = 1 << 20


def find_files(root: str) -> Iterator[str]:
    """The paths of all files below a folder but those that Python compiled. Links are followed, each folder once."""
    seen: set[tuple[int, int]] = set()
    open_ = [root]
    while open_:
        folder = open_.pop()
        status = os.stat(folder)
        if (identity := (status.st_dev, status.st_ino)) in seen:
            continue
        seen.add(identity)
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


class FileSet:
    """Files as they are when this is made, by their sizes and times. Raises OSError.

    files: name -> path. The time of the last change of status counts too, which nobody can set back.
    """

    def __init__(self, files: Mapping[str, str]):
        self._files = dict(sorted(files.items()))
        self._made = time.time_ns()
        self._stamp, self._newest = self._find_stamp()

    def digest(self, kind: str) -> str:
        """The digest of the names and contents, kept among the entries of `kind`; "" if a file has changed since. The paths
        are not part of it. Raises OSError."""
        place = disk_cache.folder(kind) / f"files-{self._stamp}"
        known = disk_cache.load(place)
        if known is not None:
            return known.decode()
        found = hashlib.sha256()
        for name, path in self._files.items():
            found.update(f"{name}\0{os.path.getsize(path)}\0".encode("utf-8", "surrogateescape"))
            _add_content(found, path)
        if self._find_stamp()[0] != self._stamp:
            return ""
        digest = found.hexdigest()
        if self._newest < self._made - SETTLED:
            disk_cache.store(place, digest.encode())
        return digest

    def _find_stamp(self) -> tuple[str, int]:
        """A digest of the sizes and times of the files as they are now, and the latest of these times."""
        found, newest = hashlib.sha256(), 0
        for name, path in self._files.items():
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
