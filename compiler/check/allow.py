"""Allow-lists applied to the report of a check."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.allow import AllowEntry, apply
from ...findings import Finding, Severity
from ...results.model import Report


def sort_findings(report: Report, findings: Sequence[Finding], entries: Sequence[AllowEntry]) -> None:
    """Put `findings` into the report: those that count, and those that an entry accepts. Rows count only the former."""
    result = apply(entries, findings)
    report.findings, report.allowed, report.expired = result.kept, result.allowed, result.expired
    if not result.allowed:
        return
    for row in report.kernels:
        mine = [finding for finding in result.kept if finding.kernel == row.name]
        row.errors = sum(finding.severity is Severity.ERROR for finding in mine)
        row.warnings = sum(finding.severity is Severity.WARNING for finding in mine)
