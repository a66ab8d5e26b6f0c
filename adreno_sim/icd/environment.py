"""The environment in which a program finds the simulated device as its OpenCL driver."""

from __future__ import annotations

import sys

from . import settings


def environment(
    *, device: str | None = None, checks: str | None = None, reports: str | None = None, strict: bool = False
) -> dict[str, str]:
    """Variables to add for a subprocess."""
    found = {"ADRENO_SIM_PYTHON": sys.executable}
    named = {
        settings.DEVICE: device,
        settings.CHECKS: checks,
        settings.REPORTS: reports,
        settings.STRICT: "1" if strict else None,
    }
    return found | {name: value for name, value in named.items() if value is not None}
