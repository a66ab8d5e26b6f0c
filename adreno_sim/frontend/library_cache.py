"""The disk cache of built-in library texts, keyed by the digest of what each was made from."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..base import disk_cache


def folder() -> Path:
    """Returns the folder of the entries."""
    return disk_cache.folder("library")


def load(name: str) -> str | None:
    """Returns the text stored under `name`, or None."""
    data = disk_cache.load(folder() / name)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def store(name: str, text: str) -> None:
    """Stores `text` under `name` if possible."""
    disk_cache.store(folder() / name, text.encode("utf-8"))


def refuse(name: str) -> None:
    """Removes a text that cannot be read, and says so."""
    disk_cache.refuse(folder() / name, "it is not what clang makes of the same OpenCL C")


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
