"""A simulated device once more, with another of the choices that are left to a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import OptionError
from ..device.protocol import Device
from .sim.device import SimDevice


def vary_device(device: Device, profile: Mapping[str, Any], options: Mapping[str, Any]) -> Device:
    """Returns another device, with memory of its own, of the same profile and options but for these values."""
    found = require_variable(device)
    return SimDevice(found.profile.with_values(profile), replace(found.options, **options))


def require_variable(device: Device) -> SimDevice:
    """Returns a simulated device. OptionError for a real one."""
    if not isinstance(device, SimDevice):
        raise OptionError("every-reading", f"{device.info.name} is a real device, which has made its choices; expected sim:...")
    return device
