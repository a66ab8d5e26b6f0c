"""Object code kept on disk between processes.

Entries are named by the digest of the LLVM text they were made from and of everything else that decides the code.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from .. import disk_cache


def folder() -> Path:
    """Where the entries lie."""
    return disk_cache.folder("objects")


def name_of(text: str, identity: str) -> str:
    """The entry that holds the object code of `text` for the machine `identity`."""
    return hashlib.sha256(f"{identity}\0{text}".encode()).hexdigest() + ".o"


def load(name: str) -> bytes | None:
    """Object code stored under `name`, or None."""
    return disk_cache.load(folder() / name) or None


def store(name: str, code: bytes) -> None:
    """Keep `code` under `name` if possible."""
    disk_cache.store(folder() / name, code)


def discard(name: str) -> None:
    """Remove an entry that turned out useless."""
    with contextlib.suppress(OSError):
        (folder() / name).unlink()
