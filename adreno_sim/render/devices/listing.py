"""The devices there are: simulated profiles, and the OpenCL devices that installed drivers offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import IO, Any

from ...backends.open import open_device
from ...base.errors import AdrenoSimError
from ...device.protocol import DeviceInfo

SCHEMA = "adreno-sim/devices/1"

Described = tuple[str, DeviceInfo]
"""Device string and description."""


@dataclass(frozen=True)
class Devices:
    """What was found. no_opencl: why `real` is empty."""

    simulated: Sequence[Described]
    real: Sequence[Described]
    no_opencl: str


def collect() -> Devices:
    """Look for every device."""
    try:
        return Devices(list(simulated()), list(real()), "")
    except AdrenoSimError as error:
        return Devices(list(simulated()), [], str(error))


def simulated() -> Iterator[Described]:
    """Every built-in profile."""
    from ...profiles.profile import names

    for name in names():
        yield f"sim:{name}", open_device(f"sim:{name}").info


def real() -> Iterator[Described]:
    """Every OpenCL device, those of drivers from PyPI included. Raises AdrenoSimError where there is no OpenCL at all.

    Loads every driver into this process.
    """
    from ...backends.opencl import drivers
    from ...backends.opencl.open import platform_names

    drivers.announce(["", *(driver.name for driver in drivers.DRIVERS)])
    known = [(drivers.meant(name), name) for name in platform_names()]
    for text in dict.fromkeys(driver.name if driver else name for driver, name in known):  # an index depends on what is loaded
        yield from _of_platform(f"cl:{text}")


def _of_platform(platform: str) -> Iterator[Described]:
    for device in count():
        text = f"{platform}:{device}" if device else platform
        try:
            yield text, open_device(text).info
        except AdrenoSimError:
            return


def show(devices: Devices, file: IO[str]) -> None:
    """Print both kinds, each with what it lacks."""
    print("simulated:", file=file)
    for text, info in devices.simulated:
        _line(text, info, file)
    print("real OpenCL devices:", file=file)
    for text, info in devices.real:
        _line(text, info, file)
    if devices.no_opencl:
        print(f"  none: {devices.no_opencl}", file=file)


def _line(text: str, info: DeviceInfo, file: IO[str]) -> None:
    print(f"  {text:<22} {info.name}, {info.version}", file=file)
    for sentence in info.lacks:
        print(f"  {'':<22}   {sentence}", file=file)


def to_json(devices: Devices) -> dict[str, Any]:
    """The same as `adreno-sim/devices/1`."""

    def listed(found: Sequence[Described]) -> list[dict[str, Any]]:
        return [{"device": text, "name": info.name, "version": info.version, "lacks": list(info.lacks)} for text, info in found]

    return {
        "schema": SCHEMA,
        "simulated": listed(devices.simulated),
        "real": listed(devices.real),
        "no_opencl": devices.no_opencl,
    }
