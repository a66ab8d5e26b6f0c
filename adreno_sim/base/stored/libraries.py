"""Shared libraries in the cache, each with its digest beside it: what is damaged, or may be another user's, is not loaded."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from .ownership import find_intruder, find_stranger

SUFFIX = ".sha256"


def note_digest(library: Path) -> None:
    """Write the digest of a library beside it, for this user alone whatever the umask is. Raises OSError."""
    place = library.with_name(library.name + SUFFIX)
    place.write_text(hashlib.sha256(library.read_bytes()).hexdigest(), encoding="ascii")
    place.chmod(0o600)


def may_load(library: Path) -> bool:
    """Whether a library is as `note_digest` left it, and nobody else could write it or put another in its place."""
    try:
        known = _read_own(library.with_name(library.name + SUFFIX))
        return not find_intruder(library.parent) and hashlib.sha256(_read_own(library)).hexdigest().encode() == known
    except OSError:
        return False


def is_own_file(path: Path) -> bool:
    """Whether a path is a regular file that nobody but this user could write. Raises OSError."""
    status = os.lstat(path)
    return stat.S_ISREG(status.st_mode) and not find_stranger(status)


def _read_own(path: Path) -> bytes:
    """Raises OSError, also where the file is another user's."""
    if not is_own_file(path):
        raise PermissionError(str(path))
    return path.read_bytes()
