"""The devices there are: simulated profiles, and the OpenCL devices that installed drivers offer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import IO

from ..device import AdrenoSimError, DeviceInfo, open_device


def simulated() -> Iterator[tuple[str, DeviceInfo]]:
    """Device string and description of every built-in profile."""
    from ..profiles import names

    for name in names():
        yield f"sim:{name}", open_device(f"sim:{name}").info


def real() -> Iterator[tuple[str, DeviceInfo]]:
    """Device string and description of every OpenCL device, those of drivers from PyPI included.

    Raises AdrenoSimError where there is no OpenCL at all. Loads every driver into this process.
    """
    from ..backends.opencl import drivers
    from ..backends.opencl.open import platform_names

    drivers.announce(["", *(driver.name for driver in drivers.DRIVERS)])
    known = [(drivers.meant(name), name) for name in platform_names()]
    for text in dict.fromkeys(
        driver.name if driver else name for driver, name in known
    ):  # an index depends on the drivers loaded
        yield from _of_platform(f"cl:{text}")


def _of_platform(platform: str) -> Iterator[tuple[str, DeviceInfo]]:
    for device in count():
        text = f"{platform}:{device}" if device else platform
        try:
            yield text, open_device(text).info
        except AdrenoSimError:
            return


def show(file: IO[str]) -> None:
    """Print both kinds, each with what it lacks."""
    print("simulated:", file=file)
    for text, info in simulated():
        _line(text, info, file)
    print("real OpenCL devices:", file=file)
    try:
        for text, info in real():
            _line(text, info, file)
    except AdrenoSimError as error:
        print(f"  none: {error}", file=file)


def _line(text: str, info: DeviceInfo, file: IO[str]) -> None:
    print(f"  {text:<22} {info.name}, {info.version}", file=file)
    for sentence in info.lacks:
        print(f"  {'':<22}   {sentence}", file=file)
