"""The devices there are: simulated profiles, and the OpenCL devices that installed drivers offer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from ..device import AdrenoSimError, DeviceInfo, open_device


def simulated() -> Iterator[tuple[str, DeviceInfo]]:
    """Device string and description of every built-in profile."""
    from ..profiles import names

    for name in names():
        yield f"sim:{name}", open_device(f"sim:{name}").info


def real() -> Iterator[tuple[str, DeviceInfo]]:
    """Device string and description of every OpenCL device. Raises AdrenoSimError where there is no OpenCL at all."""
    platform = 0
    while True:
        device = 0
        while True:
            text = f"cl:{platform}:{device}"
            try:
                yield text, open_device(text).info
            except AdrenoSimError:
                if text == "cl:0:0":
                    raise
                break
            device += 1
        if not device:
            return
        platform += 1


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
