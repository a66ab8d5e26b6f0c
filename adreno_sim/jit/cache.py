"""Object code kept on disk between processes.

Entries are named by the digest of the LLVM text they were made from and of everything else that decides the code, and
begin with the digest of their own bytes: an entry that is damaged or cut short counts as absent. Writing is atomic;
failing to write is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

_DIGEST = 32


def folder() -> Path:
    """`objects` in ADRENO_SIM_CACHE_DIR, else in the user's cache folder."""
    base = os.environ.get("ADRENO_SIM_CACHE_DIR") or platformdirs.user_cache_dir("adreno-sim")
    return Path(base) / "objects"


def name_of(text: str, identity: str) -> str:
    """The entry that holds the object code of `text` for the machine `identity`."""
    return hashlib.sha256(f"{identity}\0{text}".encode()).hexdigest() + ".o"


def load(name: str) -> bytes | None:
    """Object code stored under `name`, or None."""
    try:
        data = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, code = data[:_DIGEST], data[_DIGEST:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def store(name: str, code: bytes) -> None:
    """Keep `code` under `name` if possible."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder())
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, folder() / name)
        except OSError:
            os.unlink(temporary)


def discard(name: str) -> None:
    """Remove an entry that turned out useless."""
    with contextlib.suppress(OSError):
        (folder() / name).unlink()
