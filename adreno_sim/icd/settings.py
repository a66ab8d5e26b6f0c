"""What a server reads from its environment; `environment.py` sets it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

DEVICE, CHECKS, REPORTS, STRICT, RECORD = (
    f"ADRENO_SIM_ICD_{name}" for name in ("DEVICE", "CHECKS", "REPORTS", "STRICT", "RECORD")
)


@dataclass(frozen=True)
class Settings:
    """device: a string of a simulated device; checks: level, "" for the device string's; reports: a folder, "" for none; strict:
    a launch with an error fails; record: the session is recorded, beside the report."""

    device: str
    checks: str
    reports: str
    strict: bool
    record: bool = False


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings of a server. An unset device is the default one."""
    device = environment.get(DEVICE) or environment.get("ADRENO_SIM_DEVICE") or "sim:adreno-740"
    strict, record = (environment.get(name, "") not in ("", "0") for name in (STRICT, RECORD))
    return Settings(device, environment.get(CHECKS, ""), environment.get(REPORTS, ""), strict, record)
