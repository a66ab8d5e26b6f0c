"""`cl[:PLATFORM[:DEVICE]]`: which platform and device are meant."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.errors import AdrenoSimError
from ...base.run_options import make_options
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
    platform_text, device_text = _parts(text)
    platforms = _platforms(platform_text)
    platform = _choose("platform", platform_text, platforms)
    devices = _devices(platform)
    from .device import OpenCLDevice

    return OpenCLDevice(_choose("device", device_text, devices), run_options)


def platform_names() -> list[str]:
    """Names of the platforms there are, in the order of their indices. AdrenoSimError where there is none."""
    return [str(platform.name) for platform in _platforms("")]


def announce(texts: Iterable[str]) -> None:
    """Say that devices of these texts (as of `open_opencl`) will be opened by this process, before the first is."""
    drivers.announce([_parts(text)[0] for text in texts])


def _parts(text: str) -> tuple[str, str]:
    platform, _, device = (text or os.environ.get("PYOPENCL_CTX", "")).partition(":")
    return platform, device


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
        expected = drivers.not_found(wanted) or (
            "expected a driver's .icd file in /etc/OpenCL/vendors or where OCL_ICD_VENDORS points, "
            "or PoCL from PyPI (pip install 'adreno-sim[opencl]')"
        )
        raise AdrenoSimError(f"no OpenCL platform: {expected}")
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
    reason = drivers.not_found(wanted) if what == "platform" else ""
    raise AdrenoSimError(f"no OpenCL {what} {wanted!r}; there are: {there}{f' ({reason})' if reason else ''}")
