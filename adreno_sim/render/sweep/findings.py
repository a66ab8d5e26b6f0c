"""The findings of a sweep for code hosts: at the models' files, each once, with the devices that show it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.text.spelling import encode_exactly, spell_line
from ...findings import Finding, Kind, Severity
from ..report import annotations as workflow
from ..report import sarif

if TYPE_CHECKING:
    from ...sweep.case import Case
    from ...sweep.run import Sweep

KINDS = {kind.label: kind for kind in Kind}
BROKEN = {"crashed": Kind.DEVICE_CRASHED, "hung": Kind.DEVICE_HUNG}
GRADE = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}
COMMAND = {"failed": "error", "internal-error": "error", "unsupported": "warning"}
"""Workflow command for a case that came to no verdict."""


def findings(sweep: Sweep) -> list[Finding]:
    """Every finding of every case; file: the model's path, where hosts show it, since the kernels are not files there."""
    found: dict[tuple[Any, ...], tuple[Finding, dict[str, None]]] = {}
    for case, result in sweep.results:
        kind = BROKEN.get(result.outcome.status)
        broken = [Finding(kind, result.outcome.message, file=case.path, line=1)] if kind else []
        for finding in [*broken, *(_at_model(case, data) for data in (result.report or {}).get("findings", []))]:
            key = (case.path, finding.kind, finding.kernel, finding.message)
            found.setdefault(key, (finding, {}))[1][_where(case)] = None
    return [_with_location(finding, list(where)) for finding, where in found.values()]


def annotation_lines(sweep: Sweep) -> list[str]:
    """Workflow commands of GitHub Actions for findings, and for cases that came to no verdict."""
    out = workflow.lines(findings(sweep))
    for case, result in sweep.results:
        if result.outcome.status in COMMAND:
            said = workflow.escape(f"{result.outcome.message} (on {_where(case)})")
            out.append(f"::{COMMAND[result.outcome.status]} file={workflow.escape_property(case.path)}::{said}")
    return out


def code_quality(sweep: Sweep) -> list[dict[str, Any]]:
    """Findings as GitLab's Code Quality report."""
    return [
        {
            "description": spell_line(f"kernel {finding.kernel}: {finding.message}" if finding.kernel else finding.message),
            "check_name": finding.kind.label,
            "fingerprint": hashlib.sha256(encode_exactly(f"{finding.file}\0{sarif.fingerprint(finding)}")).hexdigest(),
            "severity": GRADE[finding.severity],
            "location": {"path": finding.file, "lines": {"begin": finding.line}},
        }
        for finding in findings(sweep)
    ]


def _at_model(case: Case, data: dict[str, Any]) -> Finding:
    place = f" (line {data['line']}:{data.get('column', 0)})" if data.get("line") else ""
    message = f"{data['message']}{place}"
    kernel, tensor = data.get("kernel", ""), data.get("tensor", "")
    nodes = tuple(data.get("nodes", ()))
    return Finding(KINDS[data["kind"]], message, kernel, line=1, count=data["count"], tensor=tensor, file=case.path, nodes=nodes)


def _where(case: Case) -> str:
    return f"{case.device} {case.target}".strip()


def _with_location(finding: Finding, where: list[str]) -> Finding:
    told = ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")
    return replace(finding, message=f"{finding.message}; on {told}")
