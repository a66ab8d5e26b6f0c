"""Reports as JSON: `adreno-sim/report/1`; see the JSON Schemas in adreno_sim/schemas."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .. import fidelity
from ..base.allow import describe_expired
from ..base.json_io import plain_json
from ..base.version import __version__
from .counters import counters_to_json
from .machine_code import kernels_to_json
from .model import Report
from .time_report import time_to_json
from .verdict.finding_json import allowed_to_json, finding_to_json

REPORT_SCHEMA = "adreno-sim/report/1"


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as JSON-ready data; infinities and NaN as the strings "inf", "-inf", "nan"."""
    kernels = [
        {**asdict(kernel), "counters": counters_to_json(kernel.counters), "status": kernel.status} for kernel in report.kernels
    ]
    data = {
        "schema": REPORT_SCHEMA,
        "version": __version__,
        "ok": report.ok,
        "exit_code": report.exit_code,
        "verdict": report.verdict,
        "model": report.model,
        "target": report.target,
        "pipeline": report.pipeline,
        "fixes": list(report.fixes),
        "tuned": report.tuned,
        "scopes": None if report.scopes is None else asdict(report.scopes),
        "tvm_version": report.tvm_version,
        "device": report.device,
        "compared_with": report.compared_with,
        "checks": report.checks,
        "seed": report.seed,
        "strict": report.strict,
        "inputs": [asdict(item) for item in report.inputs],
        "kernels_in_model": report.kernels_in_model,
        "kernels": kernels,
        "machine_code": None if report.machine_code is None else kernels_to_json(report.machine_code),
        "subgraphs": [asdict(subgraph) for subgraph in report.subgraphs],
        "kept": [asdict(kept) for kept in report.kept],
        "outputs": [asdict(output) for output in report.outputs],
        "digests": report.digests,
        "findings": [finding_to_json(finding) for finding in report.findings],
        "allowed": allowed_to_json(report.allowed),
        "expired": list(map(describe_expired, report.expired)),
        "reproduction": report.reproduction,
        "plan": None if report.plan is None else plan_to_json(report),
        "time": time_to_json(report.time),
        "readings": None if report.readings is None else report.readings.as_json(),
        "timings": report.timings,
        "unchecked": report.unchecked,
        "stopped": report.stopped,
        "fidelity": fidelity.to_json(),
    }
    return plain_json(data)


def plan_to_json(report: Report) -> dict[str, Any]:
    """Totals of the memory plan in bytes, who made it, and what the bytes are spent on."""
    assert report.plan is not None
    plan = {**asdict(report.plan), "inflation": report.plan.inflation}
    return {**plan, "planner": report.planner, "causes": report.plan_causes}
