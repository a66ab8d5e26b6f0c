"""Makes the views of a device: buffers, images over the storage's bytes, and separate images where the device has no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.errors import DeviceError, UnsupportedError, ViewTooLargeError
from ...base.specs import BufferSpec, ImageSpec
from ...findings import Finding, Kind
from ...image import find_disagreement, format_of, layout_of, own_layout_of
from ...memory.storage import DeviceMemory, MemoryBlock, Storage, StorageView
from ...profiles.profile import Profile
from . import limits
from .device_warnings import DeviceWarnings


class ViewMaker:
    """Makes views for `device`. `take` gets memory for separate images, which returns to `memory` when they are released.

    `warnings` gets what the user should know about the views, each thing once.
    """

    def __init__(
        self, device: object, profile: Profile, memory: DeviceMemory, take: Callable[[int], MemoryBlock], warnings: DeviceWarnings
    ):
        self.device, self.profile, self.memory, self._take, self._warnings = device, profile, memory, take, warnings

    def buffer(self, storage: Storage, spec: BufferSpec, offset: int) -> StorageView:
        """A sub-buffer of the storage; its length must be a whole number of elements."""
        limits.check_buffer(spec, offset, storage, self.profile)
        try:
            element = np.dtype(spec.dtype).itemsize
        except TypeError:
            raise DeviceError("CL_INVALID_VALUE", f"buffer of dtype {spec.dtype!r}: expected a numpy dtype name") from None
        if spec.nbytes % element:
            raise DeviceError("CL_INVALID_BUFFER_SIZE", f"buffer of {spec.nbytes} bytes: expected whole {spec.dtype} elements")
        return self._attach(StorageView(spec, storage, offset, spec.nbytes, device=self.device))

    def image(self, storage: Storage, spec: ImageSpec, offset: int) -> StorageView:
        """An image over the storage's bytes where the device can, else one with its own memory."""
        limits.check_image(spec, self.profile)
        if storage.on_chip:
            raise UnsupportedError(f"unsupported: {spec} in on-chip memory: how images lie there is in no public text")
        if self.profile.images_over_buffers(spec.kind):
            return self._over_bytes(storage, spec, offset)
        return self._separate(storage, spec, offset)

    def image_alone(self, storage: Storage, spec: ImageSpec) -> StorageView:
        """An image that has all of `storage` to itself: no rule of images over buffers holds for it."""
        layout = own_layout_of(spec, self.profile)
        texels = format_of(spec.order, spec.channel_type)
        return self._attach(StorageView(spec, storage, 0, layout.nbytes, layout, texels, device=self.device))

    def image_nbytes(self, spec: ImageSpec) -> int:
        """Bytes of storage under an image view: with padding, or dense under a separate image."""
        layout = layout_of(spec, self.profile)
        return layout.nbytes if self.profile.images_over_buffers(spec.kind) else layout.dense_bytes

    def _over_bytes(self, storage: Storage, spec: ImageSpec, offset: int) -> StorageView:
        layout = layout_of(spec, self.profile)
        if offset < 0 or offset + layout.nbytes > storage.block.nbytes:
            raise self._too_large(spec, offset, layout.nbytes, storage)
        limits.check_offset(offset, self.profile)
        limits.check_alignment(spec, layout, offset, self.profile)
        if offset + layout.nbytes > storage.nbytes:
            self._warn_pages(spec, offset, layout.nbytes, storage)
        self._warn_disagreement(spec, offset, storage)
        texels = format_of(spec.order, spec.channel_type)
        return self._attach(StorageView(spec, storage, offset, layout.nbytes, layout, texels, device=self.device))

    def _separate(self, storage: Storage, spec: ImageSpec, offset: int) -> StorageView:
        layout = own_layout_of(spec, self.profile)
        if offset < 0 or offset + layout.dense_bytes > storage.nbytes:
            raise self._too_large(spec, offset, layout.dense_bytes, storage)
        limits.check_offset(offset, self.profile)
        view = StorageView(
            spec,
            storage,
            offset,
            layout.dense_bytes,
            layout,
            format_of(spec.order, spec.channel_type),
            separate=self._image_memory(spec, layout.nbytes),
            memory=self.memory,
            device=self.device,
        )
        self._warn_separate(spec)
        return self._attach(view)

    def _image_memory(self, spec: ImageSpec, nbytes: int) -> MemoryBlock:
        try:
            return self._take(nbytes)
        except DeviceError as error:
            raise DeviceError("CL_MEM_OBJECT_ALLOCATION_FAILURE", f"{spec.kind} with separate memory: {error}") from None

    def _attach(self, view: StorageView) -> StorageView:
        view.storage.views.append(view)
        return view

    def _too_large(self, spec: ImageSpec, offset: int, needed: int, storage: Storage) -> DeviceError:
        return ViewTooLargeError(
            "CL_INVALID_IMAGE_SIZE",
            f"{spec} at offset {offset}: needs {needed} bytes (pitch rule {self.profile['pitch_rule']}), "
            f"the storage has {storage.nbytes}",
        )

    def _warn_pages(self, spec: ImageSpec, offset: int, needed: int, storage: Storage) -> None:
        message = (
            f"{spec} at offset {offset} needs {needed} bytes (pitch rule {self.profile['pitch_rule']}), {storage.nbytes} were "
            "allocated: it fits only because the pool rounds up to pages"
        )
        self._warnings.add_once((spec, offset, storage.nbytes), Finding(Kind.PITCH_DIFFERS, message))

    def _warn_disagreement(self, spec: ImageSpec, offset: int, storage: Storage) -> None:
        found = find_disagreement(spec, offset, storage.nbytes - offset, self.profile)
        if found:
            message = f"{spec} at offset {offset}: taken by the rule {self.profile['pitch_rule']}, a phone may refuse it: {found}"
            self._warnings.add_once((spec, Kind.PITCH_RULES_DISAGREE), Finding(Kind.PITCH_RULES_DISAGREE, message))

    def _warn_separate(self, spec: ImageSpec) -> None:
        needed = "cl_ext_image_from_buffer" if self.profile.image_from_buffer else "cl_khr_image2d_from_buffer"
        message = (
            f"{self.profile.name} has no {spec.kind} over a buffer ({needed}): such views are separate images, copied from "
            "and to their storage whenever the other side has changed"
        )
        self._warnings.add_once(spec.kind, Finding(Kind.NO_IMAGE_FROM_BUFFER, message))
