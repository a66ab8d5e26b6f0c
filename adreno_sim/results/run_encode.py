"""Reports of `adreno-sim run` as JSON: `adreno-sim/run/1`, and a process's part of it, which its server writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .. import fidelity
from ..base.allow import describe_expired
from ..base.json_io import plain_json
from ..base.version import __version__
from ..findings import Access, Finding, Kind, WorkItem
from .encode import allowed_to_json, finding_to_json
from .run_report import KernelCount, Leak, ProcessReport, RunReport

SCHEMA = "adreno-sim/run/1"


def run_to_json(report: RunReport) -> dict[str, Any]:
    """JSON-ready data of a run."""
    data = {
        "schema": SCHEMA,
        "version": __version__,
        "ok": report.ok,
        "exit_code": report.exit_code,
        "verdict": report.verdict,
        "command": report.command,
        "status": report.status,
        "device": report.device,
        "checks": report.checks,
        "strict": report.strict,
        "findings": list(map(finding_to_json, report.findings)),
        "allowed": allowed_to_json(report.allowed),
        "expired": list(map(describe_expired, report.expired)),
        "processes": list(map(process_to_json, report.processes)),
        "unsupported": report.unsupported,
        "unchecked": report.unchecked,
        "fidelity": fidelity.to_json(),
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded


def process_to_json(process: ProcessReport) -> dict[str, Any]:
    """JSON-ready data of one process."""
    data = {
        **{name: getattr(process, name) for name in _PLAIN},
        "findings": list(map(finding_to_json, process.findings)),
        "kernels": {name: asdict(count) for name, count in process.kernels.items()},
        "leaks": [asdict(leak) for leak in process.leaks],
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded


_PLAIN = ("program", "pid", "device", "checks", "opened", "sources", "unchecked", "unsupported", "failed", "compared_with",
          "compared", "differs")  # fmt: skip


def process_from_json(data: Mapping[str, Any]) -> ProcessReport:
    """What `process_to_json` made. KeyError, TypeError or ValueError for anything else."""
    return ProcessReport(
        **{name: data[name] for name in _PLAIN},
        findings=[finding_from_json(item) for item in data["findings"]],
        kernels={name: KernelCount(**count) for name, count in data["kernels"].items()},
        leaks=[Leak(**leak) for leak in data["leaks"]],
    )


_KINDS = {kind.label: kind for kind in Kind}


def finding_from_json(data: Mapping[str, Any]) -> Finding:
    """What `finding_to_json` made of a finding. KeyError or TypeError for anything else."""
    known = {key: data[key] for key in ("kernel", "tensor", "file", "line", "column") if key in data}
    item, access = data.get("work_item"), data.get("access")
    return Finding(
        _KINDS[data["kind"]],
        data["message"],
        count=data["count"],
        work_item=WorkItem(**_tuples(item)) if item else None,
        access=Access(**_tuples(access)) if access else None,
        detail=dict(data.get("detail", {})),
        **known,
    )


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
