"""Values in the disk cache, by the type that their reader expects."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

from .. import disk_cache
from ..garbage import gc_paused
from . import parts
from .forms import form_of
from .scalars import NotStorable

STRICT = "ADRENO_SIM_STRICT_ANALYSIS"
"""Environment variable of tests: a value that cannot be stored is an error, where it is only not kept otherwise."""

_FAST = 1
"""zlib's level: text shrinks eightfold in a millisecond."""


def write_value(kind: Any, value: Any) -> list[bytes | memoryview]:
    """The pieces of a value's bytes. kind: its type, with what it holds. Raises NotStorable where the value is of another."""
    found: list[bytes | memoryview] = []
    with gc_paused():
        return parts.join(form_of(kind).write(value, found), found)


def read_value(kind: Any, data: memoryview) -> Any:
    """The value of this type in `data`, whose arrays are there. Raises ValueError for data that do not hold such a value."""
    with gc_paused():
        try:
            tree, given = parts.split(data)
            return form_of(kind).read(tree, given)
        except NotStorable:
            raise
        except Exception as error:  # of any kind: a class may check what it is made of
            raise ValueError(f"no {kind}: {error}") from error


def store(path: Path, kind: Any, value: Any, *, packed: bool = False, most: int | None = None) -> None:
    """Keep a value of this type at `path` if possible. packed: compressed, as texts should be. most: its bytes, if it is to be
    kept."""
    if not disk_cache.is_enabled():
        return
    try:
        pieces = write_value(kind, value)
    except NotStorable:
        if os.environ.get(STRICT):
            raise
        return
    if most is not None and sum(map(len, pieces)) > most:
        return
    disk_cache.store(path, *([zlib.compress(b"".join(pieces), _FAST)] if packed else pieces))


def load(path: Path, kind: Any, *, packed: bool = False) -> Any:
    """The value of this type that is kept at `path`; None if there is none, or what is there is whole but no such value."""
    data = disk_cache.load_buffer(path)
    if data is None:
        return None
    try:
        return read_value(kind, memoryview(zlib.decompress(data)) if packed else data)
    except (ValueError, zlib.error):  # what this version does not write
        return None
