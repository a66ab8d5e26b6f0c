"""Reads text files that a user names, up to a bound: a device file or a picture is an error, not a hang."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

LIMIT = 16 << 20
"""Bytes; kernel sources have the same bound."""

DATA_LIMIT = 64 << 20
"""Bytes of a file that programs write: plans, traces, journals."""


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """The bytes at `path`. Raises OSError, also for more than `limit` of them and for a path that no file can have."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except ValueError as error:  # a path with a zero byte
        raise OSError(errno.EINVAL, str(error)) from None
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"more than {limit} bytes")
    return data


def read_text(path: Path, limit: int = LIMIT) -> str:
    """The UTF-8 text at `path`. Raises OSError as read_bytes does, and UnicodeDecodeError."""
    return read_bytes(path, limit).decode("utf-8")


def read_json(path: Path, limit: int = DATA_LIMIT) -> Any:
    """The JSON value at `path`. Raises OSError as read_bytes does, and ValueError for what is not JSON."""
    return parse_json(read_bytes(path, limit))


def parse_json(data: bytes | str) -> Any:
    """The JSON value of a text. Raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
