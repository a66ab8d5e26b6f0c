"""The Device protocol, and the public names around it.

They are imported when asked for: `open_device` and `announce_devices` are in `backends`, which is built on this package, and the
others bring NumPy, which most users of this package's other files do not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..base.errors import BuildError, DeviceError, OptionError
    from ..base.specs import BufferSpec, ImageSpec, Local, Null, Sampler
    from .protocol import Device, DeviceInfo

__all__ = [
    "BufferSpec",
    "BuildError",
    "Device",
    "DeviceError",
    "DeviceInfo",
    "ImageSpec",
    "Local",
    "Null",
    "OptionError",
    "Sampler",
    "announce_devices",
]

_HOME = {
    "BufferSpec": "base.specs",
    "BuildError": "base.errors",
    "Device": "device.protocol",
    "DeviceError": "base.errors",
    "DeviceInfo": "device.protocol",
    "ImageSpec": "base.specs",
    "Local": "base.specs",
    "Null": "base.specs",
    "OptionError": "base.errors",
    "Sampler": "base.specs",
    "announce_devices": "backends.open",
    "open_device": "backends.open",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"adreno_sim.{_HOME[name]}"), name)
