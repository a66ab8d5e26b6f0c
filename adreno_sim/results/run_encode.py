"""Reports of `adreno-sim run` as JSON: `adreno-sim/run/1`, and a process's part of it, which its server writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .. import fidelity
from ..base.allow import describe_expired
from ..base.json_io import plain_json
from ..base.version import __version__
from ..findings import Access, Finding, Kind, Note, WorkItem, rank
from .counters import counters_to_json
from .run_report import KernelCount, Leak, ProcessReport, RunReport
from .verdict.finding_json import allowed_to_json, finding_to_json

if TYPE_CHECKING:
    from .time_report import TimeReport

SCHEMA = "adreno-sim/run/1"


def run_to_json(report: RunReport) -> dict[str, Any]:
    """JSON-ready data of a run."""
    data: dict[str, Any] = {
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
        "findings": list(map(finding_to_json, report.shown)),
        "findings_not_shown": len(report.findings) - len(report.shown),
        "allowed": allowed_to_json(report.allowed),
        "expired": list(map(describe_expired, report.expired)),
        "processes": [process_to_json(process, report.most) for process in report.processes],
        "unsupported": report.unsupported,
        "unchecked": report.unchecked,
        "fidelity": fidelity.to_json(),
    }
    if report.counters:
        data["counters"] = [{"kernel": name, "counters": counters_to_json(one)} for name, one in report.counters.items()]
    if report.time is not None:
        data["time"] = _encode_time(report.time)
    if report.readings is not None:
        data["readings"] = report.readings.as_json()
    encoded: dict[str, Any] = plain_json(data)
    return encoded


def process_to_json(process: ProcessReport, most: int | None = None) -> dict[str, Any]:
    """JSON-ready data of one process. most: of its findings, the most severe ones."""
    findings = process.findings if most is None else sorted(process.findings, key=rank)[:most]
    data = {
        **{name: getattr(process, name) for name in _PLAIN},
        "findings": list(map(finding_to_json, findings)),
        "kernels": {name: asdict(count) for name, count in process.kernels.items()},
        "leaks": [asdict(leak) for leak in process.leaks],
        **({"launches": [asdict(row) for row in process.launches]} if process.launches else {}),
        **({"time": _encode_time(process.time)} if process.time is not None else {}),
    }
    encoded: dict[str, Any] = plain_json(data)
    return encoded


_PLAIN = ("program", "pid", "device", "checks", "opened", "sources", "unchecked", "unsupported", "failed", "compared_with",
          "compared", "differs", "checked_launches", "left_out")  # fmt: skip


def process_from_json(data: Mapping[str, Any]) -> ProcessReport:
    """What `process_to_json` made. KeyError, TypeError or ValueError for anything else."""
    return ProcessReport(
        **{name: data[name] for name in _PLAIN},
        findings=[finding_from_json(item) for item in data["findings"]],
        kernels={name: KernelCount(**count) for name, count in data["kernels"].items()},
        leaks=[Leak(**leak) for leak in data["leaks"]],
        time=_decode_time(data["time"]) if "time" in data else None,
    )


def _encode_time(time: TimeReport) -> dict[str, Any] | None:
    from .time_report import time_to_json  # NumPy, which no other run needs

    return time_to_json(time)


def _decode_time(data: Mapping[str, Any]) -> TimeReport:
    from .time_report import time_from_json

    return time_from_json(data)


_KINDS = {kind.label: kind for kind in Kind}


def finding_from_json(data: Mapping[str, Any]) -> Finding:
    """What `finding_to_json` made of a finding. KeyError or TypeError for anything else."""
    known = {key: data[key] for key in ("kernel", "tensor", "file", "line", "column", "help", "patch") if key in data}
    item, access = data.get("work_item"), data.get("access")
    return Finding(
        _KINDS[data["kind"]],
        data["message"],
        count=data["count"],
        work_item=WorkItem(**_tuples(item)) if item else None,
        access=Access(**_tuples(access)) if access else None,
        detail=dict(data.get("detail", {})),
        nodes=tuple(data.get("nodes", ())),
        notes=tuple(Note(**note) for note in data.get("notes", ())),
        **known,
    )


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
