"""Zip archives that a user hands over: what they declare is bounded before anything is decompressed, and no more is read.

An archive may say that it holds more than a machine has; what is in it may go on behind the size that it declares.
"""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .bounded_read import open_file
from .host_memory import available_bytes

RATIO, FLOOR = 100, 256 << 20
"""Contents may have so many times the bytes of the file, and always FLOOR bytes. Weights do not shrink and texts do so by 5 to 20
times; deflated zeros by 1000."""

PIECE = 1 << 20
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}


@contextmanager
def open_zip(file: str | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """The archive in a file. Raises OSError if it cannot be read, ValueError if it, or a member, is damaged or unusual."""
    try:
        with contextlib.ExitStack() as stack:
            opened = stack.enter_context(open_file(Path(file))) if isinstance(file, str) else file
            archive = stack.enter_context(zipfile.ZipFile(opened))
            _check_members(archive.infolist())
            yield archive
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        # zipfile raises the last two for ways of packing that it does not know, and for a password that it was not given
        raise ValueError(str(error) or "cut short") from error


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    seen = set()
    for info in infos:
        if info.filename in seen:
            raise ValueError(f"two members are called {info.filename!r}")
        seen.add(info.filename)
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise ValueError(f"{info.filename}: encrypted or compressed in another way than {' or '.join(_METHODS.values())}")


def require_room(what: str, nbytes: int, packed: int) -> None:
    """ValueError if `nbytes` of contents are far more than a file of `packed` bytes has, or do not fit this host's memory."""
    most = max(FLOOR, RATIO * packed)
    if nbytes > most:
        raise ValueError(f"{what}: {nbytes:,} bytes in a file of {packed:,}: expected at most {most:,}; they are not read")
    require_memory(what, nbytes)


def require_memory(what: str, nbytes: int) -> None:
    """ValueError if `nbytes` do not fit this host's memory."""
    free = available_bytes()
    if free is not None and nbytes > free:
        raise ValueError(f"{what}: {nbytes:,} bytes, and the host has {free:,} bytes of memory free")


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member: as many bytes as it declares. Raises ValueError if it has others."""
    return b"".join(iterate_member(archive, info))


def iterate_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of a member in pieces; never more than it declares."""
    left = info.file_size
    with archive.open(info) as stream:
        while left:
            piece = stream.read(min(PIECE, left))
            if not piece:
                raise ValueError(f"{info.filename}: ends {left:,} bytes before the size that it declares")
            left -= len(piece)
            yield piece
        if stream.read(1):  # also compares the checksum
            raise ValueError(f"{info.filename}: goes on behind the {info.file_size:,} bytes that it declares")
