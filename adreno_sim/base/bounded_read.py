"""Reads text files that a user names, up to a bound: a device file or a picture is an error, not a hang."""

from __future__ import annotations

import errno
import json
import os
import select
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from .trust.confined_path import open_below

LIMIT = 16 << 20
"""Bytes; kernel sources have the same bound."""

DATA_LIMIT = 64 << 20
"""Bytes of a file that programs write: plans, traces, journals."""


PATIENCE = 10.0
"""Seconds in which somebody must write to a pipe that is read."""


Folders = Iterable[str | os.PathLike[str]] | None
"""Where a file must lie, links followed; None for anywhere."""


def read_bytes(path: Path, limit: int = LIMIT, below: Folders = None) -> bytes:
    """The bytes at `path`, of a pipe those that somebody writes to it. below: folders; the file must be in one of them. Raises
    OSError, also for more than `limit` of them, for a path that no file can have, and for a pipe to which nobody writes."""
    with _open(path, below) as file:
        size = os.fstat(file.fileno()).st_size  # of anything but a file 0
        data = b"" if size > limit else file.read(limit + 1) if not _is_pipe(file) else _read_pipe(file, limit)
    if max(size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"{f'{size} bytes, ' if size else ''}more than {limit} bytes")
    return data


def open_file(path: Path, below: Folders = None) -> BinaryIO:
    """A file to read from any place. below: as of read_bytes. Raises OSError, also for a pipe or a device."""
    file = _open(path, below)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "a pipe or a device: expected a file")
    return file


def _open(path: Path, below: Folders) -> BinaryIO:
    """What is there, without waiting for who writes to a pipe."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags) if below is None else open_below(path, below, flags)
    except ValueError as error:  # a path with a zero byte
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        file = os.fdopen(descriptor, "rb")  # refuses a folder
    except OSError:
        os.close(descriptor)
        raise
    if not _is_pipe(file):
        os.set_blocking(descriptor, True)
    return file


def _is_pipe(file: BinaryIO) -> bool:
    return stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)


def _read_pipe(file: BinaryIO, limit: int) -> bytes:
    data = b""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    while len(data) <= limit:
        if not poll.poll(PATIENCE * 1000):
            raise OSError(errno.ETIMEDOUT, f"a pipe to which nobody has written for {PATIENCE:g} s: expected a file")
        piece = os.read(file.fileno(), limit + 1)
        if not piece:
            break
        data += piece
    return data


def read_text(path: Path, limit: int = LIMIT, below: Folders = None) -> str:
    """The UTF-8 text at `path`, without the mark of the byte order with which some editors begin a file. Raises OSError as
    read_bytes does, and UnicodeDecodeError."""
    return read_bytes(path, limit, below).decode("utf-8-sig")


def explain_unreadable(error: Exception) -> str:
    """Why a file cannot be read, of an error of the functions above: as the system says it, without numbers."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return getattr(error, "strerror", None) or str(error)


def read_json(path: Path, limit: int = DATA_LIMIT) -> Any:
    """The JSON value at `path`. Raises OSError as read_bytes does, and ValueError for what is not JSON."""
    return parse_json(read_bytes(path, limit))


def parse_json(data: bytes | str) -> Any:
    """The JSON value of a text. Raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
