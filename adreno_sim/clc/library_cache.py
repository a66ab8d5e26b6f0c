"""Texts kept on disk between processes, each under the digest of what it was made from.

An entry starts with the digest of its own text: one that is damaged, cut short or unreadable counts as absent. Writing
is atomic, and failing to write (a full or read-only disk) is no error: the text is made again next time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs


def folder() -> Path:
    """Where the entries lie: `library` in ADRENO_SIM_CACHE_DIR, else in the user's cache folder."""
    base = os.environ.get("ADRENO_SIM_CACHE_DIR") or platformdirs.user_cache_dir("adreno-sim")
    return Path(base) / "library"


def load(name: str) -> str | None:
    """The text stored under `name`, or None."""
    try:
        digest, _, text = (folder() / name).read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if digest == digest_of(text) else None


def store(name: str, text: str) -> None:
    """Keep `text` under `name` if possible."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder())
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{digest_of(text)}\n{text}")
            os.replace(temporary, folder() / name)
        except OSError:
            os.unlink(temporary)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
