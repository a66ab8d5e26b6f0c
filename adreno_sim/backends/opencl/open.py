"""`cl[:PLATFORM[:DEVICE]]`: which platform and device are meant."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...device import AdrenoSimError
from ...run_options import make_options
from . import drivers

if TYPE_CHECKING:
    from .device import OpenCLDevice

T = TypeVar("T")


def open_opencl(text: str = "", **options: Any) -> OpenCLDevice:
    """Open the device that `text` ("PLATFORM[:DEVICE]", each an index or a case-insensitive substring) names.

    "" = PYOPENCL_CTX if set, else the first platform's first GPU, or its first device. Keyword options are RunOptions
    fields. Raises AdrenoSimError where pyopencl, a driver, the platform or the device is missing, naming what is there.
    """
    run_options = make_options(options)
    platform_text, _, device_text = (text or os.environ.get("PYOPENCL_CTX", "")).partition(":")
    platforms = _platforms(platform_text)
    platform = _choose("platform", platform_text, platforms)
    devices = _devices(platform)
    from .device import OpenCLDevice

    return OpenCLDevice(_choose("device", device_text, devices), run_options)


def _platforms(wanted: str) -> list[Any]:
    drivers.prepare(wanted)
    try:
        import pyopencl as cl
    except ImportError as error:
        raise AdrenoSimError(f"OpenCL devices need pyopencl ({error}). Run: pip install 'adreno-sim[opencl]'") from error
    try:
        found = list(cl.get_platforms())
    except cl.Error:
        found = []
    if not found:
        raise AdrenoSimError(
            "no OpenCL platform: expected a driver's .icd file in /etc/OpenCL/vendors or where OCL_ICD_VENDORS points, "
            "or PoCL from PyPI (pip install 'adreno-sim[opencl]')"
        )
    return found


def _devices(platform: Any) -> list[Any]:
    """Devices of a platform, GPUs first."""
    import pyopencl as cl

    try:
        devices = list(platform.get_devices())
    except cl.Error:
        devices = []
    if not devices:
        raise AdrenoSimError(f"OpenCL platform {platform.name!r} has no device")
    return sorted(devices, key=lambda device: not device.type & cl.device_type.GPU)


def _choose(what: str, wanted: str, items: Sequence[T]) -> T:
    """The item at index `wanted`, or the first whose name contains it."""
    if not wanted:
        return items[0]
    names = [str(getattr(item, "name", item)) for item in items]
    if wanted.isdigit() and int(wanted) < len(items):
        return items[int(wanted)]
    for item, name in zip(items, names, strict=True):
        if not wanted.isdigit() and wanted.lower() in name.lower():
            return item
    there = ", ".join(f"{index} {name!r}" for index, name in enumerate(names))
    raise AdrenoSimError(f"no OpenCL {what} {wanted!r}; there are: {there}")
