"""DeviceInfo of an OpenCL device."""

from __future__ import annotations

import ctypes
from typing import Any

import pyopencl as cl
import pyopencl._cl as raw

from ...device.protocol import DeviceInfo
from ...image.layout import KINDS

LIMITS = (
    "MAX_COMPUTE_UNITS", "MAX_WORK_GROUP_SIZE", "MAX_WORK_ITEM_SIZES", "MAX_WORK_ITEM_DIMENSIONS", "MAX_PARAMETER_SIZE",
    "GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE", "LOCAL_MEM_SIZE", "MAX_CONSTANT_BUFFER_SIZE", "MEM_BASE_ADDR_ALIGN",
    "IMAGE_SUPPORT", "IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT", "IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT", "IMAGE3D_MAX_DEPTH",
    "IMAGE_MAX_ARRAY_SIZE", "IMAGE_MAX_BUFFER_SIZE", "IMAGE_PITCH_ALIGNMENT", "IMAGE_BASE_ADDRESS_ALIGNMENT",
    "MAX_SAMPLERS", "MAX_READ_IMAGE_ARGS", "MAX_WRITE_IMAGE_ARGS",
)  # fmt: skip

UNNAMED = {"IMAGE_PITCH_ALIGNMENT": 0x104A, "IMAGE_BASE_ADDRESS_ALIGNMENT": 0x104B}
"""Limits that pyopencl has no name for, and refuses to ask for."""

IMAGE_FROM_BUFFER = {"image2d": "cl_khr_image2d_from_buffer"}
"""Extension that makes an image kind over a buffer; cl_ext_image_from_buffer does it for every kind."""


def device_info(device: cl.Device, wrong: tuple[str, ...] = ()) -> DeviceInfo:
    """What the driver says of itself, after what it was found to get `wrong`; limits it does not answer are left out.

    The name is the device's and its platform's: two drivers for one processor are two devices.
    """
    extensions = frozenset(str(device.extensions).split())
    limits = {name: value for name in LIMITS if (value := _query(device, name)) is not None}
    return DeviceInfo(
        f"{str(device.name).strip()} ({str(device.platform.name).strip()})",
        "cl",
        str(device.version),
        extensions,
        limits,
        (*wrong, *_lacks(device, extensions)),
        checks_accesses=False,
        records_stores=False,
        names_params=False,
        image_views=frozenset(kind for kind in KINDS if _can_view_image(extensions, kind)),
        pitch_rule="pixels" if limits.get("IMAGE_PITCH_ALIGNMENT") else "bytes",
    )


def _query(device: cl.Device, name: str) -> Any:
    if name in UNNAMED:
        return _query_number(device, UNNAMED[name])
    try:
        value: Any = device.get_info(getattr(cl.device_info, name))
    except (cl.Error, AttributeError):
        return None
    return tuple(int(v) for v in value) if isinstance(value, (list, tuple)) else int(value)


def _query_number(device: cl.Device, query: int) -> int | None:
    """A cl_uint that pyopencl does not ask for, asked of the loader that pyopencl is linked to; None without an answer."""
    answer = ctypes.c_uint(0)
    ask = ctypes.CDLL(raw.__file__).clGetDeviceInfo
    ask.argtypes = (ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    code = ask(device.int_ptr, query, ctypes.sizeof(answer), ctypes.byref(answer), None)
    return answer.value if code == 0 else None


def _can_view_image(extensions: frozenset[str], kind: str) -> bool:
    """Whether a device with these makes images of `kind` over a buffer."""
    if kind == "image1d_buffer":
        return True
    return "cl_ext_image_from_buffer" in extensions or IMAGE_FROM_BUFFER.get(kind, "none") in extensions


def _lacks(device: cl.Device, extensions: frozenset[str]) -> tuple[str, ...]:
    lacks = [
        "does not check accesses: out-of-bounds reads and writes, races and uninitialised reads go unseen",
        "does not record stores: a watch on a launch is ignored",
        "does not stop a kernel that runs too long: the timeout is ignored",
        "rounds, contracts and flushes denormals as its driver does: the options for these are ignored",
    ]
    if not device.image_support:
        lacks.append("has no images: only the buffer target runs")
    elif "cl_ext_image_from_buffer" not in extensions:
        kinds = [kind for kind in ("image2d", "image2d_array") if IMAGE_FROM_BUFFER.get(kind, "none") not in extensions]
        lacks.append(f"makes no {' or '.join(kinds)} over a buffer: such views are separate images, kept coherent by copies")
    if "cl_khr_fp16" not in extensions:
        lacks.append("has no cl_khr_fp16: kernels that compute in half do not build")
    return tuple(lacks)
