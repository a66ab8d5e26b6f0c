"""Requests and replies on the socket as bytes; the shapes are those of `protocol.Request`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

MOST_BYTES = 256 << 20
"""The longest body that a request may have."""


class MalformedError(Exception):
    """A body that is not what its request says; its text is what."""


class Body:
    """Reads a body from its start; MalformedError if it is too short, and in `end` where it is too long."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def fields(self, shape: struct.Struct) -> tuple[int, ...]:
        return shape.unpack(self._take(shape.size))

    def number(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def signed(self) -> int:
        return int.from_bytes(self._take(4), "little", signed=True)

    def piece(self) -> bytes:
        return self._take(self.number())

    def text(self) -> str:
        return self.piece().decode("utf-8", "surrogateescape")

    def list(self, read: Callable[[], T]) -> list[T]:
        count = self.number()
        if count > len(self._data) - self._at:  # each takes a byte at least
            raise MalformedError(f"a list of {count}: the body has {len(self._data) - self._at} bytes left")
        return [read() for _ in range(count)]

    def end(self) -> None:
        if self._at != len(self._data):
            raise MalformedError(f"{len(self._data) - self._at} bytes too many")

    def _take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) != count:
            raise MalformedError(f"{len(self._data)} bytes: expected at least {self._at + count}")
        self._at += count
        return part


def encode_bytes(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def encode_text(text: str) -> bytes:
    return encode_bytes(text.encode("utf-8", "surrogateescape"))


def encode_list(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return struct.pack("<I", len(parts)) + b"".join(parts)
