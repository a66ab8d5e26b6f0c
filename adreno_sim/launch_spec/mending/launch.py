"""Run a launch, and where it fails look for a patch of its kernel with which it runs clean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.allow import AllowEntry
from ...device.protocol import Device
from ...findings import Kind
from ...results.launch_report import LaunchReport
from ..model import LaunchSpec, ScalarArgument
from ..run import run_launch

LONGEST = 5.0
"""Seconds of a launch beyond which it is not run again for a patch."""
_MARKER = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)", re.MULTILINE)


def run_and_mend(
    spec: LaunchSpec,
    source: Path | None = None,
    *,
    device: str | Device | None = None,
    checks: str | None = None,
    allow: Sequence[AllowEntry] = (),
    unsafe_includes: bool = False,
    **others: Any,
) -> LaunchReport:
    """`run_launch`, whose report has a patch where one is found. Where findings are expected, or markers number the lines,
    none is looked for. others: options of `run_launch` that a second run does not need. Raises as it does."""
    again: dict[str, Any] = {"device": device, "checks": checks, "allow": allow, "unsafe_includes": unsafe_includes}
    report = run_launch(spec, source, **again, **others)
    ended = all(finding.kind is not Kind.WATCHDOG for finding in report.findings)
    if report.is_test or not report.findings or not ended or report.seconds > LONGEST:
        return report
    if report.checks == "off" or _MARKER.search(report.text):
        return report
    from .offer import has_findings, offer_patch  # all that edits sources, which a clean launch does not need

    if not has_findings(report.findings):
        return report

    def rerun(text: str) -> LaunchReport:
        return run_launch(spec, source, **again, keep_arrays=True, text=text)

    report.findings = offer_patch(report, rerun, _sizes(spec, report))
    return report


def _sizes(spec: LaunchSpec, report: LaunchReport) -> Mapping[str, int]:
    """Integers that are arguments, by the names of the kernel's parameters."""
    from .source import Source

    names = Source(report.text).parameters(report.kernel)
    if len(names) != len(spec.arguments):
        return {}
    pairs = zip(names, spec.arguments, strict=True)
    return {name: arg.value for name, arg in pairs if name and isinstance(arg, ScalarArgument) and type(arg.value) is int}
