"""Boxes of bytes: a region of a buffer or image, or of plain memory, with the marks that say which bytes have been written.

What OpenCL calls a region is rows of bytes, a row pitch apart, in slices, a slice pitch apart. Texels of images are `texel_bytes`
bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.errors import DeviceError
from ..records import dataclass
from .storage import Bytes, StorageView, after_write, before_access

Extents = Sequence[int]


@dataclass(frozen=True)
class Box:
    """bytes: (slices, rows, bytes of a row), writable, in place. marks: the same of the marks, None if none are kept.
    view: whose bytes they are, None of plain memory."""

    bytes: Bytes
    marks: Bytes | None = None
    view: StorageView | None = None

    @property
    def nbytes(self) -> int:
        return self.bytes.size


def box_of_memory(memory: Bytes, at: int, shape: Extents, row_pitch: int = 0, slice_pitch: int = 0) -> Box:
    """A box of `shape` (bytes of a row, rows, slices) at byte `at` of plain memory. A pitch of 0 is the dense one.

    DeviceError CL_INVALID_VALUE for pitches that are too small, and for a box that is not inside.
    """
    return Box(_boxed(memory, 0, memory.nbytes, at, shape, row_pitch, slice_pitch, "staging"))


def box_of_buffer(view: StorageView, origin: Extents, region: Extents, row_pitch: int = 0, slice_pitch: int = 0) -> Box:
    """A box of a buffer: `origin` and `region` in bytes, rows and slices, as of clEnqueueReadBufferRect. Errors as of
    `box_of_memory`."""
    row, plane = _pitches(region, row_pitch, slice_pitch)
    at = origin[0] + origin[1] * row + origin[2] * plane
    return _box_of_view(view, at, region, row, plane)


def box_of_texels(view: StorageView, origin: Extents, region: Extents) -> Box:
    """A box of an image: `origin` and `region` in texels, rows, and slices or layers. DeviceError CL_INVALID_VALUE for a region
    that is not inside the image."""
    layout = view.layout
    assert layout is not None
    first, count = _by_axes(view, origin, 0), _by_axes(view, region, 1)
    extents = (layout.width, layout.height, layout.layers)
    if any(o < 0 or n < 1 or o + n > e for o, n, e in zip(first, count, extents, strict=True)):
        raise DeviceError("CL_INVALID_VALUE", f"region {tuple(region)} at {tuple(origin)}: expected inside {view.spec}")
    at = first[0] * layout.texel_bytes + first[1] * layout.row_pitch + first[2] * layout.slice_pitch
    shape = (count[0] * layout.texel_bytes, count[1], count[2])
    return _box_of_view(view, at, shape, max(layout.row_pitch, shape[0]), max(layout.slice_pitch, 1), checked=True)


def _by_axes(view: StorageView, values: Extents, unused: int) -> tuple[int, int, int]:
    """OpenCL's triple of an image as (x, y, layer): an array of 1D images counts its layers along y."""
    x, y, z = values
    if getattr(view.spec, "kind", "") != "image1d_array":
        return x, y, z
    if z != unused:
        raise DeviceError("CL_INVALID_VALUE", f"{view.spec}: third number {z}: expected {unused}")
    return x, unused, y


def copy_box(source: Box, target: Box) -> None:
    """Copy bytes, and hand on which of them have been written. The shapes are equal, or both are dense and of one size."""
    target.bytes[...] = source.bytes.reshape(target.bytes.shape)
    if target.marks is not None:
        if source.marks is None:
            target.marks[...] = 1
        else:
            target.marks[...] = source.marks.reshape(target.marks.shape)
            assert target.view is not None
            target.view.block.forget()
    _note_write(target)


def fill_box(target: Box, pattern: bytes) -> None:
    """Repeat `pattern` along each row; a row holds whole patterns. DeviceError CL_INVALID_VALUE where it does not."""
    width = target.bytes.shape[2]
    if not pattern or width % len(pattern):
        raise DeviceError("CL_INVALID_VALUE", f"a fill of {width} bytes: expected a multiple of the pattern's {len(pattern)}")
    target.bytes[...] = np.tile(np.frombuffer(pattern, np.uint8), width // len(pattern))
    mark_box(target)


def mark_box(target: Box) -> None:
    """Note that somebody has written all bytes."""
    if target.marks is not None:
        target.marks[...] = 1
    _note_write(target)


def _note_write(target: Box) -> None:
    if target.view is not None:
        after_write(target.view)


def _box_of_view(view: StorageView, at: int, shape: Extents, row: int, plane: int, checked: bool = False) -> Box:
    before_access(view)
    start = 0 if view.separate else view.offset
    room = view.layout.nbytes if view.layout is not None else view.nbytes
    what = str(view.spec) if view.layout is not None else f"buffer of {view.nbytes} bytes"
    block = view.block
    make = _strided if checked else _boxed
    marks = None if block.valid is None else make(block.valid, start, room, at, shape, row, plane, what)
    return Box(make(block.bytes, start, room, at, shape, row, plane, what), marks, view)


def _pitches(shape: Extents, row_pitch: int, slice_pitch: int) -> tuple[int, int]:
    row = row_pitch or shape[0]
    return row, slice_pitch or row * shape[1]


def _boxed(memory: Bytes, start: int, room: int, at: int, shape: Extents, row: int, plane: int, what: str) -> Bytes:
    """The bytes of a box that is checked to be in `room` bytes from `start` on, and not to overlap itself."""
    width, rows, slices = shape
    row, plane = _pitches(shape, row, plane)
    if min(shape) < 1 or at < 0 or row < width or (slices > 1 and plane < row * rows):
        given = f"{width} x {rows} x {slices} at {at}, pitches {row} and {plane}"
        raise DeviceError("CL_INVALID_VALUE", f"region {given} of {what}: expected one whose rows do not overlap")
    end = at + (slices - 1) * plane + (rows - 1) * row + width
    if end > room:
        raise DeviceError("CL_INVALID_VALUE", f"region from byte {at} to {end}: expected inside {what} ({room} bytes)")
    return _strided(memory, start, room, at, shape, row, plane, what)


def _strided(memory: Bytes, start: int, room: int, at: int, shape: Extents, row: int, plane: int, what: str) -> Bytes:
    del room, what
    width, rows, slices = shape
    row, plane = row if rows > 1 else width, plane if slices > 1 else width  # a pitch that nothing uses may be any number
    return np.ndarray((slices, rows, width), np.uint8, memory.data, start + at, (plane, row, 1))
