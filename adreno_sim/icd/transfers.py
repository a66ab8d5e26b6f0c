"""Commands that move bytes: regions of buffers and images from, to and between memories, with the marks of what was written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.errors import DeviceError
from ..memory import region
from ..memory.region import Box
from ..memory.storage import StorageView
from .objects import Objects
from .protocol import COPY_BODY, FILL_BODY, RANGE, TRANSFER, Command
from .trace.events import STORE

COLOUR_BYTES = 16


class Transfers:
    """Runs READ, WRITE, COPY, FILL and WRITTEN. Each raises DeviceError for numbers that are out of range, and then changes
    nothing. The caller holds the device's lock."""

    def __init__(self, objects: Objects, staging: NDArray[np.uint8]):
        self._objects, self._staging = objects, staging

    def boxes(self, kind: Command, body: bytes) -> list[tuple[Box, bool]]:
        """The boxes of memories that a command reads or writes, and whether it writes them."""
        if kind in (Command.READ, Command.WRITE):
            return [(self._moved(TRANSFER.unpack_from(body)), kind is Command.WRITE)]
        if kind in (Command.WRITTEN, Command.HOST_READ):
            return [(self._range(body), kind is Command.WRITTEN)]
        if kind is Command.COPY:
            source, target = self._copied(body)
            return [(source, False), (target, True)]
        return [(self._filled(body)[0], True)] if kind is Command.FILL else []

    def read(self, body: bytes) -> None:
        """A region of a memory into staging."""
        memory, staged = self._ends(body)
        staged.bytes[...] = memory.bytes

    def write(self, body: bytes) -> None:
        """A region of a memory from staging."""
        memory, staged = self._ends(body)
        memory.bytes[...] = staged.bytes
        region.mark_box(memory)

    def encode_store(self, kind: Command, body: bytes) -> bytes:
        """STORE of the bytes that a WRITE or WRITTEN command has left in the memory."""
        if kind is Command.WRITTEN:
            number, offset, nbytes = RANGE.unpack_from(body)
            place = number, nbytes, 1, 1, offset, 0, 0, 0, 0
        else:
            fields = TRANSFER.unpack_from(body)
            place = fields[0], *fields[2:10]
        return STORE.pack(*place) + self._stored_box(place).bytes.tobytes()

    def store(self, body: bytes) -> StorageView:
        """The bytes of a STORE into its memory, which is returned."""
        if len(body) < STORE.size:
            raise DeviceError("CL_INVALID_VALUE", f"a store of {len(body)} bytes: expected at least {STORE.size}")
        place = STORE.unpack_from(body)
        box, data = self._stored_box(place), np.frombuffer(body, np.uint8, offset=STORE.size)
        if data.size != box.nbytes:
            raise DeviceError("CL_INVALID_VALUE", f"a store of {data.size} bytes: expected {box.nbytes}")
        box.bytes[...] = data.reshape(box.bytes.shape)
        region.mark_box(box)
        return self._objects.memory(place[0])

    def mark_written(self, body: bytes) -> None:
        """Bytes of a buffer that the shim has written itself."""
        region.mark_box(self._range(body))

    def copy(self, body: bytes) -> None:
        """A region of one memory to another."""
        region.copy_box(*self._copied(body))

    def fill(self, body: bytes) -> None:
        """A pattern over a buffer's bytes, or a colour over an image's texels."""
        region.fill_box(*self._filled(body))

    def _range(self, body: bytes) -> Box:
        number, offset, nbytes = RANGE.unpack_from(body)
        view = self._objects.memory(number)
        if view.layout is not None:
            raise DeviceError("CL_INVALID_MEM_OBJECT", f"bytes of {view.spec}: expected a buffer")
        return region.box_of_buffer(view, (offset, 0, 0), (nbytes, 1, 1))

    def _copied(self, body: bytes) -> tuple[Box, Box]:
        """The source and the target of a copy."""
        fields = COPY_BODY.unpack_from(body)
        source, target = self._objects.memory(fields[0]), self._objects.memory(fields[1])
        shape, (origin, into) = fields[2:5], (fields[5:8], fields[10:13])
        if source.layout is None and target.layout is None:
            return (
                region.box_of_buffer(source, origin, shape, *fields[8:10]),
                region.box_of_buffer(target, into, shape, *fields[13:15]),
            )
        return _copied_texels(source, target, origin, into, shape)

    def _filled(self, body: bytes) -> tuple[Box, bytes]:
        """Where a fill goes, and what it repeats there."""
        fields = FILL_BODY.unpack_from(body)
        view, length = self._objects.memory(fields[0]), fields[1]
        origin, shape, pattern = fields[3:6], fields[6:9], body[FILL_BODY.size : FILL_BODY.size + fields[1]]
        if len(pattern) != length:
            raise DeviceError("CL_INVALID_VALUE", f"a pattern of {length} bytes: the command has {len(pattern)}")
        if view.layout is None:
            box = region.box_of_buffer(view, (origin[0], 0, 0), (shape[0], 1, 1))
        else:
            box, pattern = region.box_of_texels(view, origin, shape), _texel_of(view, pattern)
        return box, pattern

    def _stored_box(self, place: Sequence[int]) -> Box:
        return _box_of(self._objects.memory(place[0]), tuple(place[4:7]), tuple(place[1:4]), *place[7:9])

    def _moved(self, fields: Sequence[int]) -> Box:
        """The region in the memory of a TRANSFER."""
        return _box_of(self._objects.memory(fields[0]), tuple(fields[5:8]), tuple(fields[2:5]), *fields[8:10])

    def _ends(self, body: bytes) -> tuple[Box, Box]:
        """The region in the memory, and the same in staging."""
        fields = TRANSFER.unpack_from(body)
        memory = self._moved(fields)
        slices, rows, width = memory.bytes.shape
        (x, y, z), row, plane = fields[10:13], fields[13], fields[14]
        row = row or width
        at = fields[1] + x + y * row + z * (plane or row * rows)
        return memory, region.box_of_memory(self._staging, at, (width, rows, slices), row, plane)


def _box_of(view: StorageView, origin: tuple[int, ...], shape: tuple[int, ...], row: int, plane: int) -> Box:
    if view.layout is None:
        return region.box_of_buffer(view, origin, shape, row, plane)
    return region.box_of_texels(view, origin, shape)


def _copied_texels(
    source: StorageView, target: StorageView, origin: tuple[int, ...], into: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[Box, Box]:
    """The boxes of a copy of texels; a buffer holds them densely."""
    if source.layout is not None and target.layout is not None:
        if source.format != target.format:
            raise DeviceError("CL_IMAGE_FORMAT_MISMATCH", f"copy from {source.spec} to {target.spec}")
        return region.box_of_texels(source, origin, shape), region.box_of_texels(target, into, shape)
    if target.layout is not None:
        texels = region.box_of_texels(target, into, shape)
        return region.box_of_buffer(source, (origin[0], 0, 0), (texels.nbytes, 1, 1)), texels
    texels = region.box_of_texels(source, origin, shape)
    return texels, region.box_of_buffer(target, (into[0], 0, 0), (texels.nbytes, 1, 1))


def _texel_of(view: StorageView, colour: bytes) -> bytes:
    """A colour of clEnqueueFillImage as the image stores it."""
    assert view.format is not None
    if len(colour) != COLOUR_BYTES:
        raise DeviceError("CL_INVALID_VALUE", f"a colour of {len(colour)} bytes: expected {COLOUR_BYTES}")
    values = np.frombuffer(colour, view.format.colour_dtype)
    return view.format.encode(values.reshape(1, 4)).tobytes()
