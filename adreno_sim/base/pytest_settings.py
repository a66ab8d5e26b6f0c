"""The device settings of a test run: from the command line, else the ini file, else the environment."""

from __future__ import annotations

import os
from pathlib import Path

from ..records import dataclass
from .trust.device_string import DEFAULT, default_device


@dataclass(frozen=True)
class PytestSettings:
    """devices: device strings, at least one. checks: None = the device's default. output: folder of failure attachments.

    strict: a comparison that says nothing, and any other warning, fails `verify_results`.
    """

    devices: tuple[str, ...] = (DEFAULT,)
    checks: str | None = None
    pipeline: str = "fixed"
    update: bool = False
    output: Path | None = None
    strict: bool = False


_current: list[PytestSettings] = []


def begin(settings: PytestSettings) -> None:
    """A test run begins; runs nest (pytester runs one inside another)."""
    _current.append(settings)


def end() -> None:
    """The innermost test run ends."""
    _current.pop()


def current() -> PytestSettings:
    """Those of the test run; without the plugin what ADRENO_SIM_DEVICE, _CHECKS and _PIPELINE say."""
    if _current:
        return _current[-1]
    checks, pipeline = os.environ.get("ADRENO_SIM_CHECKS"), os.environ.get("ADRENO_SIM_PIPELINE", "fixed")
    return PytestSettings((default_device(),), checks, pipeline, strict=os.environ.get("ADRENO_SIM_STRICT", "") not in ("", "0"))
