"""NumPy's array files (.npy, .npz) that a user hands over. A header is compared with the bytes that follow before memory is
allocated for them; what would have to be unpickled is refused."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from ..records import dataclass
from .archive import PIECE, iterate_member, open_zip
from .bounded_read import Folders, open_file

_HEAD = 1 << 16
"""Bytes at a file's start in which its header lies; numpy itself takes 10,000 characters."""

_ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class ArrayHeader:
    """What an array file says of its array. start: the byte at which the contents begin."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(head: bytes) -> ArrayHeader:
    """The header in the first bytes of an array file. Raises ValueError if there is none, or if its elements are not numbers."""
    if head.startswith(_ZIP):
        raise ValueError("an archive of arrays (.npz): expected one array (.npy)")
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"version {'.'.join(map(str, version))} of the format, which is for fields with names")
        shape, fortran, dtype = read(stream)
    except Exception as error:  # what numpy's reader raises on damaged text is not bounded by its documentation
        raise ValueError(str(error).splitlines()[0] if str(error) else "no header of an array") from None
    if dtype.hasobject or dtype.names is not None or dtype.itemsize == 0:
        raise ValueError(f"elements of {dtype}: expected numbers (objects are not unpickled)")
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape}: expected sizes of 0 or more")
    return ArrayHeader(tuple(map(int, shape)), dtype, bool(fortran), stream.tell())


def load_npy(path: Path, mapped_from: int | None = None, below: Folders = None) -> np.ndarray:
    """The array in a .npy file; one of `mapped_from` bytes or more stays in the file. below: folders; the file must be in one of
    them. Raises OSError and ValueError."""
    with open_file(path, below) as file:
        header = read_header(file.read(_HEAD))
        held = os.fstat(file.fileno()).st_size - header.start
        if header.nbytes > held:
            raise ValueError(f"shape {header.shape} of {header.dtype} are {header.nbytes:,} bytes; the file holds {held:,}")
        if mapped_from is not None and header.nbytes >= mapped_from:
            order = "F" if header.fortran else "C"
            return np.memmap(file, header.dtype, "r", header.start, header.shape, order)  # type: ignore[call-overload]
        file.seek(header.start)
        return _fill(header, iter(lambda: file.read(PIECE), b""))


class ArrayArchive:
    """The arrays of an .npz file: headers at once, contents one by one."""

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        self._infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        self.headers = {name: self._header(info) for name, info in self._infos.items()}

    @property
    def nbytes(self) -> int:
        return sum(header.nbytes for header in self.headers.values())

    def read(self, name: str) -> np.ndarray:
        """The array called `name`. Raises ValueError if it is damaged."""
        header, pieces = self.headers[name], iterate_member(self._archive, self._infos[name])
        return _fill(header, _without_start(pieces, header.start))

    def read_all(self) -> dict[str, np.ndarray]:
        """Every array by name."""
        return {name: self.read(name) for name in self.headers}

    def _header(self, info: zipfile.ZipInfo) -> ArrayHeader:
        with self._archive.open(info) as stream:
            head = stream.read(min(_HEAD, info.file_size))
        try:
            header = read_header(head)
        except ValueError as error:
            raise ValueError(f"{info.filename}: {error}") from None
        held = info.file_size - header.start
        if header.nbytes != held:
            raise ValueError(
                f"{info.filename}: shape {header.shape} of {header.dtype} are {header.nbytes:,} bytes; it declares {held:,}"
            )
        return header


@contextmanager
def open_npz(file: str | IO[bytes]) -> Iterator[ArrayArchive]:
    """The arrays in an .npz file. Raises OSError if it cannot be read, ValueError if it or an array is damaged."""
    with open_zip(file) as archive:
        yield ArrayArchive(archive)


def write_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file of arrays by name; numpy's own writer takes a name like "file" for an option."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def _without_start(pieces: Iterator[bytes], start: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece[start:]
        start -= min(start, len(piece))


def _fill(header: ArrayHeader, pieces: Iterator[bytes]) -> np.ndarray:
    """The array whose contents the pieces are; what goes on behind it is left."""
    raw = np.empty(header.nbytes, np.uint8)
    at = 0
    for piece in pieces:
        taken = np.frombuffer(piece, np.uint8)[: header.nbytes - at]
        raw[at : at + taken.size] = taken
        at += taken.size
    if at < header.nbytes:
        raise ValueError(f"ends after {at:,} of {header.nbytes:,} bytes")
    return raw.view(header.dtype).reshape(header.shape, order="F" if header.fortran else "C")
