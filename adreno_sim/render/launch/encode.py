"""The report of one launch as JSON: `adreno-sim/launch-report/1`; see the JSON Schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ... import fidelity
from ...base.allow import describe_expired
from ...base.json_io import plain_json
from ...base.version import __version__
from ...results.counters import counters_to_json
from ...results.launch_report import LaunchReport
from ...results.machine_code import kernels_to_json
from ...results.time_report import time_to_json
from ...results.verdict.finding_json import allowed_to_json, finding_to_json

SCHEMA = "adreno-sim/launch-report/1"


def to_json(report: LaunchReport) -> dict[str, Any]:
    """JSON-ready data; infinities and NaN as strings."""
    data = {
        "schema": SCHEMA,
        "version": __version__,
        "ok": report.ok,
        "exit_code": report.exit_code,
        "verdict": report.verdict,
        "kernel": report.kernel,
        "source": report.source,
        "launch": report.launch,
        "variant": report.variant,
        "device": report.device,
        "checks": report.checks,
        "global_size": report.global_size,
        "local_size": report.local_size,
        "strict": report.strict,
        "is_test": report.is_test,
        "seconds": report.seconds,
        "findings": list(map(finding_to_json, report.findings)),
        "expected": list(map(finding_to_json, report.expected)),
        "missing": report.missing,
        "allowed": allowed_to_json(report.allowed),
        "expired": list(map(describe_expired, report.expired)),
        "outputs": [asdict(output) for output in report.outputs],
        "coverage": [asdict(argument) for argument in report.coverage],
        "values": report.values,
        "compared": None if report.compared is None else asdict(report.compared),
        "unchecked": report.unchecked,
        "refused": report.refused,
        "printed": report.printed,
        "counters": counters_to_json(report.counters),
        "machine_code": None if report.machine_code is None else kernels_to_json(report.machine_code),
        "time": time_to_json(report.time),
        "readings": None if report.readings is None else report.readings.as_json(),
        **({} if report.tried is None else {"tried": [asdict(launch) for launch in report.tried]}),
        "fidelity": fidelity.to_json(),
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded
