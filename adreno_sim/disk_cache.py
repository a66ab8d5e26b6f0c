"""Bytes kept on disk between processes, in one folder for each kind of entry.

An entry begins with the digest of its own bytes: one that is damaged, cut short or unreadable counts as absent. Writing
is atomic, and failing to write (a full or read-only disk) is no error: the bytes are made again next time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs


def folder(kind: str) -> Path:
    """`kind` in ADRENO_SIM_CACHE_DIR, else in the user's cache folder."""
    base = os.environ.get("ADRENO_SIM_CACHE_DIR") or platformdirs.user_cache_dir("adreno-sim")
    return Path(base) / kind


def load(place: Path) -> bytes | None:
    """The bytes stored at `place`, or None."""
    try:
        digest, _, data = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    return data if digest == _digest(data) else None


def store(place: Path, data: bytes) -> None:
    """Keep `data` at `place` if possible."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(data) + b"\n" + data)
            os.replace(temporary, place)
        except OSError:
            os.unlink(temporary)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
