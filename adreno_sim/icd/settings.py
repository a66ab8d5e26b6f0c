"""What a server reads from its environment; `environment.py` sets it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..base.text.name_pattern import NamePattern
from ..records import dataclass
from .calls.launch_filter import LaunchFilter

LOG, TRACE = "ADRENO_SIM_ICD_LOG", "ADRENO_SIM_ICD_TRACE"
"""What the shim reads: the file of the calls, and whether they are shown on standard error."""
DEVICE, CHECKS, REPORTS, STRICT, RECORD, KERNELS, SKIP, MOST, FINDINGS, TIMES = (
    f"ADRENO_SIM_ICD_{name}"
    for name in (
        "DEVICE", "CHECKS", "REPORTS", "STRICT", "RECORD", "KERNELS", "SKIP_LAUNCHES", "LAUNCHES", "MAX_FINDINGS", "TIMES",
    )
)  # fmt: skip


@dataclass(frozen=True)
class DriverSettings:
    """device: a string of a simulated device; checks: level, "" for the device string's; reports: a folder, "" for none; strict:
    a launch with an error fails; record: the session is recorded, beside the report; kernels, skip, most: of its launches that
    are checked, as of `LaunchFilter`; max_findings: as many are printed, None: all. times: the
    report has the predicted time of each checked launch."""

    device: str
    checks: str
    reports: str
    strict: bool
    record: bool = False
    kernels: str = ""
    skip: int = 0
    most: int | None = None
    max_findings: int | None = None
    times: bool = False

    def make_filter(self) -> LaunchFilter:
        """The filter of a session's launches. PatternError for an expression that is none."""
        return LaunchFilter(NamePattern(self.kernels) if self.kernels else None, self.skip, self.most)


def read_settings(environment: Mapping[str, str] = os.environ) -> DriverSettings:
    """Settings of a server. An unset device is the default one."""
    device = environment.get(DEVICE) or environment.get("ADRENO_SIM_DEVICE") or "sim:adreno-740"
    strict, record, times = (environment.get(name, "") not in ("", "0") for name in (STRICT, RECORD, TIMES))
    numbers = (environment.get(name, "") for name in (SKIP, MOST, FINDINGS))
    skip, most, findings = (int(text) if text.isdigit() else None for text in numbers)
    return DriverSettings(
        device, environment.get(CHECKS, ""), environment.get(REPORTS, ""), strict, record,
        environment.get(KERNELS, ""), skip or 0, most, findings, times,
    )  # fmt: skip
