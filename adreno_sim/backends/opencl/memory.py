"""Storages and views of an OpenCL device; separate images are kept coherent with their storage by copies."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import pyopencl as cl
import pyopencl._cl as raw  # the public enqueue_copy refuses one-dimensional images

from ...base.errors import DeviceError
from ...base.specs import BufferSpec, ImageSpec, ViewSpec
from ...image import Format, format_of
from ...records import dataclass
from .errors import device_errors

KINDS = {
    "image1d": cl.mem_object_type.IMAGE1D,
    "image1d_array": cl.mem_object_type.IMAGE1D_ARRAY,
    "image1d_buffer": cl.mem_object_type.IMAGE1D_BUFFER,
    "image2d": cl.mem_object_type.IMAGE2D,
    "image2d_array": cl.mem_object_type.IMAGE2D_ARRAY,
    "image3d": cl.mem_object_type.IMAGE3D,
}


class HasQueue(Protocol):
    """A device, as far as its memory asks."""

    @property
    def queue(self) -> cl.CommandQueue: ...


@dataclass(eq=False)
class OpenCLStorage:
    """A clBuffer of `nbytes`. version counts the changes to its bytes; newest: separate images that hold newer data."""

    nbytes: int
    buffer: cl.Buffer
    live: bool = True
    version: int = 0
    newest: list[OpenCLView] = field(default_factory=list)


@dataclass(eq=False)
class OpenCLView:
    """A buffer or image over `nbytes` of a storage from `offset`. separate: an image with its own memory.

    `format` is set for images. version: the storage's version that a separate image holds.
    """

    device: HasQueue
    spec: ViewSpec
    storage: OpenCLStorage
    offset: int
    nbytes: int
    memory: Any
    format: Format | None = None
    separate: bool = False
    version: int = -1
    live: bool = True

    def release(self) -> None:
        """Give the view up; a separate image hands its texels to the storage first. CL_INVALID_MEM_OBJECT for one that
        was released before."""
        if not self.live:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "the view was released before")
        if self in self.storage.newest:
            if self.storage.live:
                flush(self)
            else:
                self.storage.newest.remove(self)
        self.live = False
        if self.memory is not self.storage.buffer:
            self.memory.release()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what read and write take: (count,) or (layers, height, width, channels)."""
        if isinstance(self.spec, BufferSpec):
            return (self.spec.count,)
        assert self.format is not None
        return (self.spec.depth_or_layers, self.spec.height, self.spec.width, self.format.channels)

    @property
    def dtype(self) -> np.dtype:
        if isinstance(self.spec, BufferSpec):
            return np.dtype(self.spec.dtype)
        assert self.format is not None
        return self.format.dtype

    @property
    def region(self) -> tuple[int, int, int]:
        """Extent in OpenCL's order: the layers of a 1D array are its second axis."""
        assert isinstance(self.spec, ImageSpec)
        if self.spec.kind == "image1d_array":
            return (self.spec.width, self.spec.depth_or_layers, 1)
        return (self.spec.width, self.spec.height, self.spec.depth_or_layers)

    def overlaps(self, other: OpenCLView) -> bool:
        return self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes


def dense_bytes(spec: ViewSpec) -> int:
    """Bytes of a view without padding."""
    if isinstance(spec, BufferSpec):
        return spec.nbytes
    texel = format_of(spec.order, spec.channel_type).texel_bytes
    return texel * math.prod((spec.width, spec.height, spec.depth_or_layers))


def before_access(view: OpenCLView) -> None:
    """Make what `view` sees the newest: other separate images hand over theirs, this one takes the storage's."""
    storage = view.storage
    for other in [v for v in storage.newest if v is not view and v.overlaps(view)]:
        flush(other)
    if view.separate and view not in storage.newest and view.version != storage.version:
        if storage.version:  # else nobody wrote these bytes yet
            raw._enqueue_copy_buffer_to_image(view.device.queue, storage.buffer, view.memory, view.offset, (0, 0, 0), view.region)
        view.version = storage.version


def after_write(view: OpenCLView) -> None:
    """Note that `view` now holds the newest data."""
    if not view.separate:
        view.storage.version += 1
    elif view not in view.storage.newest:
        view.storage.newest.append(view)


def flush(view: OpenCLView) -> None:
    """Copy a separate image's texels to the storage, row after row without padding."""
    raw._enqueue_copy_image_to_buffer(view.device.queue, view.memory, view.storage.buffer, (0, 0, 0), view.region, view.offset)
    view.storage.newest.remove(view)
    view.storage.version += 1
    view.version = view.storage.version


def make_image(context: cl.Context, spec: ImageSpec, buffer: cl.Buffer | None, row_pitch: int, slice_pitch: int) -> cl.Image:
    """clCreateImage, over `buffer` where given."""
    form = cl.ImageFormat(getattr(cl.channel_order, spec.order), getattr(cl.channel_type, spec.channel_type))
    descriptor = cl.ImageDescriptor()
    descriptor.image_type = KINDS[spec.kind]
    flat = spec.kind.startswith("image1d")
    descriptor.shape = (spec.width, 0 if flat else spec.height, spec.depth_or_layers if spec.kind == "image3d" else 0)
    descriptor.array_size = spec.depth_or_layers if spec.kind.endswith("array") else 0
    descriptor.pitches = (row_pitch, slice_pitch)
    descriptor.num_mip_levels = descriptor.num_samples = 0
    descriptor.buffer = buffer
    with device_errors(f"image {spec}"):
        return cl.Image(context, cl.mem_flags.READ_WRITE, form, desc=descriptor)


def check_extents(spec: ImageSpec, limits: Any) -> None:
    """Raise CL_INVALID_IMAGE_SIZE naming the extent and the limit it passes, CL_INVALID_IMAGE_DESCRIPTOR for an unknown kind."""
    if spec.kind not in KINDS:
        raise DeviceError("CL_INVALID_IMAGE_DESCRIPTOR", f"image kind {spec.kind!r}: expected one of {', '.join(KINDS)}")
    depth = "IMAGE3D_MAX_DEPTH" if spec.kind == "image3d" else "IMAGE_MAX_ARRAY_SIZE"
    base = "IMAGE3D" if spec.kind == "image3d" else "IMAGE2D"
    width = "IMAGE_MAX_BUFFER_SIZE" if spec.kind == "image1d_buffer" else f"{base}_MAX_WIDTH"
    for name, value, limit in (
        ("width", spec.width, width), ("height", spec.height, f"{base}_MAX_HEIGHT"), ("layers", spec.depth_or_layers, depth),
    ):  # fmt: skip
        most = limits.get(limit)
        if value < 1 or (most and value > most):
            raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{spec.kind} {name} {value}: expected 1 to {limit} = {most}")
