"""Specifications of storages, views, tensors, and kernel arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, Union

import numpy as np

from ..records import dataclass
from .errors import OptionError, UnsupportedError

Size3 = tuple[int, int, int]
"""Sizes of a launch or an image: x, y, z."""


@dataclass(frozen=True)
class BufferExtent:
    """The logical extent of a tensor inside a larger buffer: runs of `nbytes` bytes, the first at byte `offset`.

    repeats: (count, stride in bytes) of the axes along which the run is repeated, outermost first. What lies between the runs
    (padding of rows) and around them (other tensors of a pool) is outside.
    """

    nbytes: int
    offset: int = 0
    repeats: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of_tensor(shape: Sequence[int], itemsize: int, strides: Sequence[int] = (), offset: int = 0) -> BufferExtent:
        """The extent of a tensor of `shape`, whose elements of `itemsize` bytes lie `strides` bytes apart along each axis
        (default: densely). Raises OptionError if elements would overlap, or an axis has none."""
        if min((*shape, itemsize)) < 1:
            raise OptionError("shape", f"expected at least one element along each axis, got {list(shape)}")
        dense = [itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if strides and len(strides) != len(shape):
            raise OptionError("strides", f"expected one for each of the {len(shape)} axes, got {list(strides)}")
        nbytes = itemsize
        repeats: list[tuple[int, int]] = []
        for count, stride in zip(reversed(shape), reversed(strides or dense), strict=True):
            if count == 1 or (stride == nbytes and not repeats):
                nbytes *= count
                continue
            inner = repeats[-1][0] * repeats[-1][1] if repeats else nbytes
            if stride < inner:
                raise OptionError("strides", f"expected at least the {inner} bytes that the axes inside take, got {stride}")
            repeats.append((count, stride))
        return BufferExtent(nbytes, offset, tuple(reversed(repeats)))

    @property
    def end(self) -> int:
        """The byte behind the last run."""
        return self.offset + self.nbytes + sum((count - 1) * stride for count, stride in self.repeats)

    def __str__(self) -> str:
        repeats = "".join(f", {count} times at every {stride}" for count, stride in reversed(self.repeats))
        return f"{self.nbytes} bytes from byte {self.offset} on{repeats}"


@dataclass(frozen=True)
class BufferSpec:
    """A buffer view: `nbytes` of memory holding `count` elements of `dtype` (numpy name).

    extent: of the tensor in it, None if it fills the buffer; level full finds accesses outside.
    """

    nbytes: int
    dtype: str = "uint8"
    extent: BufferExtent | None = None

    def __post_init__(self) -> None:
        if self.extent is not None and not 0 <= self.extent.offset < self.extent.end <= self.nbytes:
            raise OptionError("extent", f"expected a tensor inside the {self.nbytes} bytes of its buffer, got {self.extent}")

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
    extent: width, height and depth or layers of the tensor in it, None if it fills the image; level full finds accesses
    outside.
    """

    kind: str
    width: int
    height: int = 1
    depth_or_layers: int = 1
    order: str = "RGBA"
    channel_type: str = "FLOAT"
    row_pitch: int | None = None
    slice_pitch: int | None = None
    extent: Size3 | None = None

    def __post_init__(self) -> None:
        whole = (self.width, self.height, self.depth_or_layers)
        if self.extent is not None and not all(0 < part <= all_ for part, all_ in zip(self.extent, whole, strict=True)):
            raise OptionError("extent", f"expected at least 1 and at most the image's {whole} texels, got {self.extent}")

    def __str__(self) -> str:
        return f"{self.kind} {self.width} x {self.height} x {self.depth_or_layers} {self.order} {self.channel_type}"


ViewSpec = Union[BufferSpec, ImageSpec]


TEXTURE_SEPARATOR = {"global.texture": -2, "global.texture-weight": 1, "global.texture-nhwc": 2}
"""Axis before which a texture shape is split into rows and columns (TVM's `DefaultTextureLayoutSeparator`)."""


ELEMENT_TYPES = frozenset(np.dtype(code).name for code in "?bhilqBHILQefd")
"""Element types that a tensor may have, by NumPy's names."""

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
        """Why no texture holds the tensor, "" if one does, or where its scope asks for none."""
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
class Null:
    """A NULL pointer instead of a buffer: a legal argument, but no byte of it may be accessed."""


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


Argument = Union[View, np.generic, np.ndarray, int, float, Local, Null, Sampler]
"""A kernel argument; an array is a vector by value (three elements take the room of four), np.void a struct."""
