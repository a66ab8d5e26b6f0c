"""Findings as JSON: `adreno-sim/finding/1`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ...base.allow import Allowed
from ...base.json_io import plain_json
from ...explanations import help_of
from ...findings import Finding


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding; fields that do not apply are left out."""
    data: dict[str, Any] = {
        "kind": finding.kind.label,
        "severity": str(finding.severity),
        "message": finding.message,
        "count": finding.count,
    }
    for key in ("kernel", "tensor", "file", "line", "column"):
        if getattr(finding, key):
            data[key] = getattr(finding, key)
    if finding.work_item is not None:
        data["work_item"] = asdict(finding.work_item)
    if finding.access is not None:
        data["access"] = {key: value for key, value in asdict(finding.access).items() if value is not None}
    if finding.nodes:
        data["nodes"] = list(finding.nodes)
    if finding.notes:
        data["notes"] = [{key: value for key, value in asdict(note).items() if value} for note in finding.notes]
    data["help"] = help_of(finding)
    if finding.patch:
        data["patch"] = finding.patch
    if finding.detail:
        data["detail"] = dict(finding.detail)
    return plain_json(data)


def allowed_to_json(allowed: Iterable[Allowed]) -> list[dict[str, Any]]:
    """Accepted findings, each with the reason and the last day of its entry."""
    return [
        {
            "finding": finding_to_json(item.finding),
            "reason": item.entry.reason,
            "expires": item.entry.expires.isoformat(),
            "entry": item.entry.where,
        }
        for item in allowed
    ]
