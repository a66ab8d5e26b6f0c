"""Opens a device by its string: a simulated profile or a real OpenCL device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.errors import AdrenoSimError
from ..base.trust.device_string import default_device
from ..device.protocol import Device


def announce_devices(devices: Iterable[str]) -> None:
    """Say which devices this process will open. OpenCL's loader is set up at the first `cl` device, for those known by then:
    a later `cl:intel` is not found where only `cl:portable` was announced or opened."""
    real = [rest for text in devices for backend, _, rest in [text.partition(":")] if backend == "cl"]
    if real:
        from .opencl.open import announce

        announce(real)


def open_device(device: str | None = None, *, defaults: Any = None, **options: Any) -> Device:
    """Open `sim:PROFILE[,key=value...]` or `cl[:PLATFORM[:DEVICE]]`; None = ADRENO_SIM_DEVICE, else sim:adreno-740.

    Keyword options are RunOptions fields and win over keys in the string, which win over `defaults`, options by
    name. Raises AdrenoSimError on an unknown device, profile, key or value, naming what is there.
    """
    text = device or default_device()
    backend, _, rest = text.partition(":")
    if backend == "sim":
        from .sim.open import open_sim

        return open_sim(rest, defaults=defaults, **options)
    if backend == "cl":
        from .opencl import open_opencl

        return open_opencl(rest, **{**(defaults or {}), **options})
    raise AdrenoSimError(f"device {text!r}: expected sim:PROFILE or cl[:PLATFORM[:DEVICE]]{suggest_device(text)}")


def suggest_device(text: str) -> str:
    """A suggestion where the text is a profile without its `sim:`; else nothing."""
    from ..profiles.profile import names, phones

    profile = text.partition(",")[0]
    known = profile in (*names(), *phones()) or profile.endswith((".toml", ".json", ".txt"))
    return f"; did you mean sim:{text}?" if known else ""
