"""The images that TVM's OpenCL runtime makes: it passes a row pitch of its own to clCreateImage.

Where an image is over a buffer, the runtime gives image_row_pitch = align_up(width * texel bytes, A), A the device's
IMAGE_PITCH_ALIGNMENT taken for bytes, or 64 where the device reports none; image_slice_pitch stays 0, the device's choice. A
device that counts A in pixels refuses most of these images. (TVM: src/backend/opencl/runtime/opencl_device_api.cc)

TVM's planner counts a texture's bytes alike, with the `image_base_address_alignment` of its target instead of A.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...base.pitch_rules import find_pitch_rule
from ...base.specs import BufferSpec, ImageSpec, TensorSpec, ViewSpec
from ...device.protocol import Device
from ...image import format_of

ROW_ALIGNMENT = 64
"""`image_base_address_alignment` of TVM's Adreno targets, in bytes."""


def with_runtime_pitch(view: ViewSpec, image_views: Collection[str], limits: Mapping[str, Any]) -> ViewSpec:
    """The view with the row pitch that TVM's runtime passes. image_views: kinds of images that the device has over buffers."""
    if isinstance(view, BufferSpec) or view.kind not in image_views:
        return view
    return replace(view, row_pitch=row_pitch(view, limits))


def row_pitch(image: ImageSpec, limits: Mapping[str, Any]) -> int:
    """Bytes from row to row as TVM's runtime computes them."""
    return _row_pitch(image, int(limits.get("IMAGE_PITCH_ALIGNMENT") or 0))


def planned_nbytes(image: ImageSpec, alignment: int = ROW_ALIGNMENT) -> int:
    """Bytes of a texture as TVM's planner means to count them; 0 where an extent is."""
    return _row_pitch(image, alignment) * image.height * image.depth_or_layers


def texel_bytes(image: ImageSpec) -> int:
    return format_of(image.order, image.channel_type).texel_bytes


def _row_pitch(image: ImageSpec, alignment: int) -> int:
    return find_pitch_rule("bytes").row_pitch(image.width, texel_bytes(image), alignment)


def device_view(spec: TensorSpec, device: Device) -> ViewSpec:
    """The view of a tensor as TVM's runtime asks `device` for it."""
    return with_runtime_pitch(spec.lower(), device.info.image_views, device.info.limits)
