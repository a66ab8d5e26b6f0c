"""Arguments of a launch as machine code takes them: addresses and sizes."""

from __future__ import annotations

from typing import Union

from ...records import dataclass


@dataclass(frozen=True)
class BoundBuffer:
    """`nbytes` of memory at `address`, a multiple of 128. If the specialization has a shadow: the addresses of the
    definedness bytes (`valid`) and of the race cells."""

    address: int
    nbytes: int
    valid: int = 0
    cells: int = 0


@dataclass(frozen=True)
class BoundImage:
    """The memory of an image: extents in texels, pitches and size in bytes; shadows as of a buffer."""

    address: int
    width: int
    height: int
    depth_or_layers: int
    row_pitch: int
    slice_pitch: int
    nbytes: int
    valid: int = 0
    cells: int = 0


Bound = Union[BoundBuffer, BoundImage, bytes, None]
