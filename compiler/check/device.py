"""The device that something is checked on."""

from __future__ import annotations

from typing import Any

from ...backends.open import open_device
from ...base.errors import AdrenoSimError
from ...device.protocol import Device, refuse_checks


def open_for_check(device: str | Device | None, asked: dict[str, Any], counters: bool = False) -> Device:
    """asked: the caller's RunOptions. An open device keeps its own seed; its checks must be those in `asked`, and it must count
    where `counters` is asked for."""
    checks = asked.get("checks")
    if device is None or isinstance(device, str):
        opened = open_device(device, **asked, **({"counters": True} if counters else {}))
        refuse_checks(opened, checks)
        return opened
    if checks is not None and checks != device.options.checks:
        raise AdrenoSimError(f"checks={checks!r}: the device is already open with checks={device.options.checks!r}")
    if counters and not device.options.counters:
        raise AdrenoSimError("counters=True: the device is already open with counters=False")
    return device
