"""A disk cache of reference results, keyed by the content of the program and of its inputs.

A key covers the text of the function, the bytes of every input, the versions of what computed it, and the code
that makes references. A result that was evicted or damaged is computed again.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base import disk_cache
from ..base.code_digest import code_digest
from ..base.stored import values

MOST_BYTES = 256 << 20
"""Bytes. Larger results are not cached: reading them back would cost as much as computing them."""


def digest_of(parts: Iterable[object]) -> str:
    """A digest of texts, bytes, numbers and arrays in order, with their types and shapes."""
    sum = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sum.update(f"array {part.dtype.str} {part.shape}:".encode())
            sum.update(np.ascontiguousarray(part).view(np.uint8).reshape(-1).data if part.size else b"")
        else:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            sum.update(f"{type(part).__name__} {len(data)}:".encode() + data)
    return sum.hexdigest()


def key_of(maker: str, *parts: object) -> str:
    """The cache key of the results of `maker` (a program and its version) on `parts`; "" if the cache is off."""
    if not disk_cache.is_enabled():
        return ""
    return digest_of([maker, platform.machine(), code_digest("golden"), *parts])


def load(key: str, kind: Any) -> Any:
    """What is stored under `key`, a value of the type `kind`; None if nothing is."""
    return values.load(disk_cache.folder("golden") / key, kind) if key else None


def store(key: str, kind: Any, value: Any) -> None:
    """Keep arrays, texts, and containers or dataclasses of them."""
    if key:
        values.store(disk_cache.folder("golden") / key, kind, value, most=MOST_BYTES)
