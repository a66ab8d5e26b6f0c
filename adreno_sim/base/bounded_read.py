"""Reads text files that a user names, up to a bound: a device file or a picture is an error, not a hang."""

from __future__ import annotations

import errno
from pathlib import Path

LIMIT = 16 << 20
"""Bytes; kernel sources have the same bound."""


def read_text(path: Path) -> str:
    """The UTF-8 text at `path`. Raises OSError, also for one of more than LIMIT bytes, and UnicodeDecodeError."""
    with path.open("rb") as file:
        data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise OSError(errno.EFBIG, f"more than {LIMIT} bytes")
    return data.decode("utf-8")
