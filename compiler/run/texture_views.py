"""The images that TVM's OpenCL runtime makes: it passes a row pitch of its own to clCreateImage.

Where an image lies over a buffer, the runtime gives image_row_pitch = align_up(width * texel bytes, A), A the device's
IMAGE_PITCH_ALIGNMENT taken for bytes, or 64 where the device reports none; image_slice_pitch stays 0, the device's choice. A
device that counts A in pixels refuses most of these images. (TVM: src/backend/opencl/runtime/opencl_device_api.cc)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...base.alignment import align_up
from ...base.specs import BufferSpec, ImageSpec, TensorSpec, ViewSpec
from ...device.protocol import Device
from ...image import format_of
from ...image.layout import DEFAULT_ALIGNMENT


def with_runtime_pitch(view: ViewSpec, image_views: Collection[str], limits: Mapping[str, Any]) -> ViewSpec:
    """The view with the row pitch that TVM's runtime passes. image_views: kinds of images that the device has over buffers."""
    if isinstance(view, BufferSpec) or view.kind not in image_views:
        return view
    return replace(view, row_pitch=row_pitch(view, limits))


def row_pitch(image: ImageSpec, limits: Mapping[str, Any]) -> int:
    """Bytes from row to row as TVM's runtime computes them."""
    texel = format_of(image.order, image.channel_type).texel_bytes
    return align_up(image.width * texel, int(limits.get("IMAGE_PITCH_ALIGNMENT") or DEFAULT_ALIGNMENT))


def device_view(spec: TensorSpec, device: Device) -> ViewSpec:
    """The view of a tensor as TVM's runtime asks `device` for it."""
    return with_runtime_pitch(spec.lower(), device.info.image_views, device.info.limits)
