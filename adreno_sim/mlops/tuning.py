"""The tuning cache: a file of records, one a subgraph, in the container that TVM's runtime writes.

A record is a magic number, a reserved one (each 8 bytes, little-endian), then the subgraph's symbol and a blob, both with
8 bytes of length before them. What is in the blob is the driver's business; here it is a signature, the SHA-256 of what
follows, and JSON: the graph's digest, the device, and for each operator the columns of its product that are computed at once.

TVM appends to the file: a run that dies leaves half a record, and a record that was tuned again is found behind the old one. Here
the whole file is written again under another name, flushed to the disk and renamed: it is the old one or the new one, whenever
the process ends. Writers wait for each other (a lock on the folder), so that none loses another's records.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ..base.bounded_read import DATA_LIMIT, parse_json, read_bytes
from ..base.errors import AdrenoSimError
from ..base.output_file import replacing
from ..records import dataclass

MAGIC = 0x434C4D4C54554E45  # "CLMLTUNE"
SIGNATURE = b"adreno-sim/tuning/1\n"
_HEAD = struct.Struct("<QQ")
_LENGTH = struct.Struct("<Q")


class TuningCacheError(AdrenoSimError):
    """A file that is not a tuning cache of this simulator, or is damaged."""


@dataclass(frozen=True)
class Tuning:
    """Results for one graph: its digest, the device they are for, and node number (as text) -> columns at once, 0 = all."""

    graph: str
    device: str
    blocks: dict[str, int]


def digest(graph_json: str) -> str:
    return hashlib.sha256(graph_json.encode()).hexdigest()


def load(path: Path) -> dict[str, Tuning]:
    """Results by symbol; TuningCacheError for a missing, foreign or damaged file."""
    try:
        data = read_bytes(path, DATA_LIMIT)
    except OSError as error:
        raise TuningCacheError(f"tuning cache {path}: cannot be read: {error.strerror or error}") from None
    return {symbol: _tuning(path, symbol, blob) for symbol, blob in _records(path, data)}


def save(path: Path, symbol: str, tuning: Tuning) -> None:
    """Put the results of one graph into the file; the others in it stay. TuningCacheError if there is another file."""
    try:
        with _lock(path.parent):
            known = {name: _blob(found) for name, found in load(path).items()} if path.exists() else {}
            with replacing(path.resolve()) as file:
                file.write(_file({**known, symbol: _blob(tuning)}))
    except OSError as error:
        raise TuningCacheError(f"tuning cache {path}: cannot be written: {error.strerror or error}") from None


def _file(blobs: Mapping[str, bytes]) -> bytes:
    parts = []
    for symbol, blob in sorted(blobs.items()):
        name = symbol.encode()
        parts += [_HEAD.pack(MAGIC, 0), _LENGTH.pack(len(name)), name, _LENGTH.pack(len(blob)), blob]
    return b"".join(parts)


def _records(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        if count > len(data) - at:
            raise TuningCacheError(f"tuning cache {path}: damaged: it ends inside a record (byte {len(data)}); tune again")
        at += count
        return data[at - count : at]

    if not data:
        raise TuningCacheError(f"tuning cache {path}: damaged: it is empty; delete it and tune again")
    while at < len(data):
        start = at
        magic, _ = _HEAD.unpack(take(_HEAD.size))
        if magic != MAGIC:
            what = "damaged" if start else "not a tuning cache of OpenCL ML"
            raise TuningCacheError(f"tuning cache {path}: {what}: byte {start} starts no record; the file is left unchanged")
        name = take(_LENGTH.unpack(take(_LENGTH.size))[0])
        blob = take(_LENGTH.unpack(take(_LENGTH.size))[0])
        try:
            yield name.decode(), blob
        except UnicodeDecodeError:
            raise TuningCacheError(f"tuning cache {path}: damaged: a symbol that is not text; tune again") from None


def _blob(tuning: Tuning) -> bytes:
    text = json.dumps(asdict(tuning), sort_keys=True).encode()
    return SIGNATURE + hashlib.sha256(text).digest() + text


def _tuning(path: Path, symbol: str, blob: bytes) -> Tuning:
    where = f"tuning cache {path}, {symbol}"
    if not blob.startswith(SIGNATURE):
        raise TuningCacheError(f"{where}: tuned by another runtime (a device's results are for its driver); name another file")
    body = blob[len(SIGNATURE) :]
    sum, text = body[:32], body[32:]
    if hashlib.sha256(text).digest() != sum:
        raise TuningCacheError(f"{where}: damaged: its contents do not match their digest; delete the file and tune again")
    try:
        data = parse_json(text)
        return Tuning(str(data["graph"]), str(data["device"]), {str(key): int(value) for key, value in data["blocks"].items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TuningCacheError(f"{where}: written by another version of this simulator; delete the file and tune again") from None


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
