"""The device settings of a test run: from the command line, else the ini file, else the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_DEVICE = "sim:adreno-740"


@dataclass(frozen=True)
class Settings:
    """devices: device strings, at least one. checks: None = the device's default. output: folder of failure attachments.

    strict: a comparison that says nothing, and any other warning, fails `verify_results`.
    """

    devices: tuple[str, ...] = (DEFAULT_DEVICE,)
    checks: str | None = None
    pipeline: str = "fixed"
    update: bool = False
    output: Path | None = None
    strict: bool = False


_current: list[Settings] = []


def begin(settings: Settings) -> None:
    """A test run begins; runs nest (pytester runs one inside another)."""
    _current.append(settings)


def end() -> None:
    """The innermost test run ends."""
    _current.pop()


def current() -> Settings:
    """Those of the test run; without the plugin what ADRENO_SIM_DEVICE, _CHECKS and _PIPELINE say."""
    if _current:
        return _current[-1]
    checks, pipeline = os.environ.get("ADRENO_SIM_CHECKS"), os.environ.get("ADRENO_SIM_PIPELINE", "fixed")
    return Settings((default_device(),), checks, pipeline, strict=os.environ.get("ADRENO_SIM_STRICT", "") not in ("", "0"))


def default_device() -> str:
    """ADRENO_SIM_DEVICE, else an Adreno 740."""
    return os.environ.get("ADRENO_SIM_DEVICE") or DEFAULT_DEVICE
