"""Large arrays whose bytes are in a file without a name: they take memory only while somebody reads them.

A model's weights are needed in turns, by one reference or one launch at a time. What is in a file can be let go in between.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

LEAST = 4 << 20
"""Bytes. Smaller arrays stay in memory."""

ALIGNMENT = 64
"""Of every array made here, in bytes: TVM takes no other unchanged."""

_BLOCK = 8 << 20
"""Bytes that are copied at a time."""

_mappings: weakref.WeakValueDictionary[int, mmap.mmap] = weakref.WeakValueDictionary()
"""Where each file is in memory."""


def spill(array: np.ndarray) -> np.ndarray:
    """The elements in order C: in a file if they are many, and one can be written; else in memory. What is in a file stays
    there."""
    if array.nbytes < LEAST:
        return np.array(array, order="C")
    try:
        pages = pages_of(array)
        found = _in_file(_blocks_of(array), array.nbytes) if pages is None else pages
    except OSError:
        return np.array(array, order="C")
    return found.view(array.dtype).reshape(array.shape)


def read_array(source: BinaryIO, offset: int, nbytes: int) -> NDArray[np.uint8]:
    """So many bytes of an open file as a separate array. Raises OSError, EOFError if the file has less."""
    if nbytes >= LEAST:
        try:
            return _in_file(_blocks_read(source, offset, nbytes), nbytes)
        except OSError:
            pass
    room = empty_bytes(nbytes)
    at = 0
    for block in _blocks_read(source, offset, nbytes):
        room[at : at + len(block)] = np.frombuffer(block, np.uint8)
        at += len(block)
    return room


def empty_bytes(nbytes: int) -> NDArray[np.uint8]:
    """Bytes in memory, aligned, not set to anything."""
    room = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -int(room.ctypes.data) % ALIGNMENT
    return room[start : start + nbytes]


def pages_of(array: np.ndarray) -> NDArray[np.uint8] | None:
    """The bytes of an array that is in a file, from the beginning of a page on; None for one in memory. Nobody may write to
    them: `drop_resident_pages` would undo it."""
    mapping = _mappings.get(int(array.ctypes.data)) if array.flags.c_contiguous else None
    if mapping is None:
        return None
    start = int(array.ctypes.data) - int(np.frombuffer(mapping, np.uint8, 1).ctypes.data)
    return np.frombuffer(mapping, np.uint8, array.nbytes, start)


def in_mapping(mapping: mmap.mmap, start: int) -> NDArray[np.uint8]:
    """The bytes of a mapped file, which nobody changes, from a page on, as an array that `drop_resident_pages` knows. Writing
    to it does not change the file."""
    found = np.frombuffer(mapping, np.uint8, len(mapping) - start, start)
    _mappings[int(found.ctypes.data)] = mapping
    return found


def drop_resident_pages() -> None:
    """Give back the memory in which bytes of files are at the moment; the next access reads them again."""
    for mapping in list(_mappings.values()):
        mapping.madvise(mmap.MADV_DONTNEED)


def _in_file(blocks: Iterable[bytes | memoryview], nbytes: int) -> NDArray[np.uint8]:
    """These bytes in a file, mapped so that nobody who writes to them changes the file. Raises OSError."""
    with tempfile.TemporaryFile(buffering=0) as file:
        for block in blocks:
            left = memoryview(block)
            while left:
                left = left[file.write(left) :]
        return in_mapping(mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_COPY), 0)


def _blocks_of(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array in order C. Blocks are of its first dimension that has more than one place."""
    flat = array.squeeze()
    rows = max(1, _BLOCK * len(flat) // array.nbytes)
    for start in range(0, len(flat), rows):
        yield np.ascontiguousarray(flat[start : start + rows]).reshape(-1).view(np.uint8).data


def _blocks_read(source: BinaryIO, offset: int, nbytes: int) -> Iterator[bytes]:
    source.seek(offset)
    left = nbytes
    while left:
        block = source.read(min(left, _BLOCK))
        if not block:
            raise EOFError(f"expected {nbytes} bytes from byte {offset} on, and there are {nbytes - left}")
        yield block
        left -= len(block)
