"""What is asked of simulated devices alone: one more, with another of the choices that are left to a device, and what a launch
touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base.errors import OptionError
from ..device.protocol import Device
from ..engine.run.counted import Touched
from .sim.device import SimDevice
from .sim.launches.touched_bytes import find_touched_bytes
from .sim.program import SimKernel


def vary_device(device: Device, profile: Mapping[str, Any], options: Mapping[str, Any]) -> Device:
    """Returns another device with separate memory, the same profile and the same options except for these values."""
    found = require_variable(device)
    return SimDevice(found.profile.with_values(profile), replace(found.options, **options))


def require_variable(device: Device) -> SimDevice:
    """Returns a simulated device. OptionError for a real one."""
    if not isinstance(device, SimDevice):
        raise OptionError("every-reading", f"{device.info.name} is a real device, which has made its choices; expected sim:...")
    return device


def find_bytes_of_launch(
    device: Device, kernel: SimKernel, global_size: Sequence[int], local_size: Sequence[int] | None, args: Sequence[Any]
) -> Touched | None:
    """Returns what a launch that has not run would touch, as of `find_touched_bytes`. device: a simulated one.

    DeviceError if it refuses the launch.
    """
    assert isinstance(device, SimDevice), device.info.name
    return find_touched_bytes(device.prepare(kernel, global_size, local_size, args), device.options, has_run=False)
