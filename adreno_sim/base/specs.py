"""Specifications of storages, views, tensors, and kernel arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Union

import numpy as np

from .errors import UnsupportedError


@dataclass(frozen=True)
class BufferSpec:
    """A buffer view: `nbytes` of memory holding `count` elements of `dtype` (numpy name)."""

    nbytes: int
    dtype: str = "uint8"

    @property
    def count(self) -> int:
        return self.nbytes // np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class ImageSpec:
    """An image view: OpenCL's cl_image_format and cl_image_desc.

    kind: "image1d", "image1d_buffer", "image1d_array", "image2d", "image2d_array", "image3d".
    depth_or_layers: depth of a 3D image, layers of an array, else 1.
    order: "RGBA", "R", "RG", "BGRA", "A", "sRGBA", ...; channel_type: "FLOAT", "HALF_FLOAT", "UNORM_INT8",
    "SIGNED_INT32", ... (the CL_ constants without prefix). row_pitch and slice_pitch in bytes; None = the device's rule.
    """

    kind: str
    width: int
    height: int = 1
    depth_or_layers: int = 1
    order: str = "RGBA"
    channel_type: str = "FLOAT"
    row_pitch: int | None = None
    slice_pitch: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.width} x {self.height} x {self.depth_or_layers} {self.order} {self.channel_type}"


ViewSpec = Union[BufferSpec, ImageSpec]


TEXTURE_SEPARATOR = {"global.texture": -2, "global.texture-weight": 1, "global.texture-nhwc": 2}
"""Axis before which a texture shape is split into rows and columns (TVM's `DefaultTextureLayoutSeparator`)."""


IMAGE_CHANNEL_TYPE = {
    "float32": "FLOAT", "float16": "HALF_FLOAT",
    "int8": "SIGNED_INT8", "int16": "SIGNED_INT16", "int32": "SIGNED_INT32",
    "uint8": "UNSIGNED_INT8", "uint16": "UNSIGNED_INT16", "uint32": "UNSIGNED_INT32",
}  # fmt: skip


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of the model: logical shape, numpy dtype name, TVM storage scope ("global", "global.texture*")."""

    shape: tuple[int, ...]
    dtype: str
    scope: str = "global"

    @property
    def nbytes(self) -> int:
        """Bytes of the dense tensor."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def why_no_texture(self) -> str:
        """Why no texture holds the tensor, "" where one does, or where its scope asks for none."""
        if not self.scope.startswith("global.texture"):
            return ""
        if self.scope not in TEXTURE_SEPARATOR:
            return f"storage scope {self.scope!r}: expected one of {sorted(TEXTURE_SEPARATOR)}"
        if not self.shape or self.shape[-1] != 4 or len(self.shape) < 3:
            return f"texture of shape {self.shape}: expected rank >= 3 and last dimension 4 (RGBA)"
        if self.dtype not in IMAGE_CHANNEL_TYPE:
            return f"texture of dtype {self.dtype}: no image channel type holds it"
        return ""

    def lower(self) -> ViewSpec:
        """The view that holds this tensor: a buffer, or the RGBA image2d_array of TVM's texture flattening.

        With separator a: layers = prod(shape[:a-1]), height = shape[a-1], width = prod(shape[a:-1]); the last
        axis (4) is the texel.
        """
        if not self.scope.startswith("global.texture"):
            return BufferSpec(self.nbytes, self.dtype)
        if reason := self.why_no_texture():
            raise UnsupportedError(reason)
        axis = TEXTURE_SEPARATOR[self.scope] % len(self.shape)
        return ImageSpec(
            "image2d_array",
            width=math.prod(self.shape[axis:-1]),
            height=self.shape[axis - 1],
            depth_or_layers=math.prod(self.shape[: axis - 1]),
            channel_type=IMAGE_CHANNEL_TYPE[self.dtype],
        )


@dataclass(frozen=True)
class Local:
    """A __local pointer argument of `nbytes`."""

    nbytes: int


@dataclass(frozen=True)
class Sampler:
    """A sampler argument.

    addressing: "none", "clamp_to_edge", "clamp", "repeat" or "mirrored_repeat"; filter: "nearest" or "linear".
    """

    normalized: bool = False
    addressing: str = "clamp_to_edge"
    filter: str = "nearest"


class Storage(Protocol):
    """Device memory (a clBuffer)."""

    @property
    def nbytes(self) -> int: ...


class View(Protocol):
    """A buffer or image over the bytes of a storage."""

    @property
    def spec(self) -> ViewSpec: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def offset(self) -> int: ...
    def release(self) -> None: ...


Argument = Union[View, np.generic, np.ndarray, int, float, Local, Sampler]
"""A kernel argument; an array is a vector by value (three elements take the room of four), np.void a struct."""
