"""The Device protocol, and the public names around it.

`open_device` and `announce_devices` lie in `backends`, which is built on this package: they are imported when asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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

_ABOVE = ("announce_devices", "open_device")


def __getattr__(name: str) -> Any:
    if name not in _ABOVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("adreno_sim.backends.open"), name)
