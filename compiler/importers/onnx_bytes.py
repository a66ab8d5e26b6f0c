"""An ONNX file's bytes without those of its weights, found by protobuf's encoding alone.

In that (https://protobuf.dev/programming-guides/encoding) a message is a row of fields, each a number that says its place and
type, then its value; a value of variable length begins with its number of bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
"""Numbers of fields in onnx.proto: of a model, of its graph, and of an initialiser."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Types of values."""

LEAST = 1 << 15
"""Bytes. A smaller initialiser stays where it is."""


class FileBytes(NamedTuple):
    """Bytes of a file."""

    start: int
    nbytes: int


class Field(NamedTuple):
    """A field of a message: where it starts, and its value."""

    number: int
    type: int
    start: int
    value: FileBytes


Takes = Callable[[bytes, int], bool]


def strip_weights(file: BinaryIO, takes: Takes = lambda rest, nbytes: True) -> tuple[bytes, dict[int, FileBytes]]:
    """A serialised model without the elements of large initialisers, and where these are, by the number of the initialiser.

    takes: whether to leave an initialiser's elements out, by its message without them and by their number of bytes. Raises
    ValueError for anything but a message.
    """
    stripper = _Stripper(file, takes)
    return stripper.strip_model(FileBytes(0, file.seek(0, os.SEEK_END))), stripper.found


class _Stripper:
    """Copies a model's bytes but those of large initialisers. found: where these are."""

    def __init__(self, file: BinaryIO, takes: Takes):
        self._file = file
        self._takes = takes
        self.found: dict[int, FileBytes] = {}
        self._initializers = 0

    def strip_model(self, model: FileBytes) -> bytes:
        """Raises ValueError for anything but a message."""
        return b"".join(self._strip(model, GRAPH, self._strip_graph))

    def _strip_graph(self, graph: FileBytes) -> bytes:
        return b"".join(self._strip(graph, INITIALIZER, self._strip_tensor))

    def _strip(self, message: FileBytes, number: int, strip: Callable[[FileBytes], bytes]) -> Iterator[bytes]:
        """The bytes of a message whose fields of this number are stripped."""
        done = message.start
        for field in self._fields(message):
            if field.number == number and field.type == BYTES:
                yield self._bytes(FileBytes(done, field.start - done))
                inner = strip(field.value)
                yield _varint(number << 3 | BYTES) + _varint(len(inner)) + inner
                done = field.value.start + field.value.nbytes
        yield self._bytes(FileBytes(done, message.start + message.nbytes - done))

    def _strip_tensor(self, tensor: FileBytes) -> bytes:
        """An initialiser; without its elements where they are many, and can be read without protobuf."""
        number, self._initializers = self._initializers, self._initializers + 1
        if tensor.nbytes <= LEAST:
            return self._bytes(tensor)
        raw = [field for field in self._fields(tensor) if field.number == RAW_DATA and field.type == BYTES]
        if len(raw) != 1:
            return self._bytes(tensor)
        end = raw[0].value.start + raw[0].value.nbytes
        rest = self._bytes(FileBytes(tensor.start, raw[0].start - tensor.start))
        rest += self._bytes(FileBytes(end, tensor.start + tensor.nbytes - end))
        if not self._takes(rest, raw[0].value.nbytes):
            return self._bytes(tensor)
        self.found[number] = raw[0].value
        return rest

    def _fields(self, message: FileBytes) -> Iterator[Field]:
        at, end = message.start, message.start + message.nbytes
        while at < end:
            head = self._bytes(FileBytes(at, min(20, end - at)))
            tag, after = _read_varint(head, 0)
            kind = tag & 7
            size, begin = 0, after
            if kind == VARINT:
                _, begin = _read_varint(head, after)
            elif kind == BYTES:
                size, begin = _read_varint(head, after)
            elif kind in (FIXED32, FIXED64):
                size = 4 if kind == FIXED32 else 8
            else:
                raise ValueError(f"a field of type {kind}")
            field = Field(tag >> 3, kind, at, FileBytes(at + begin, size))
            at += begin + size
            if at > end:
                raise ValueError("a field that goes beyond its message")
            yield field

    def _bytes(self, place: FileBytes) -> bytes:
        self._file.seek(place.start)
        return self._file.read(place.nbytes)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length at a place, and the place after it. ValueError if there is none."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError("a number that does not end")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
