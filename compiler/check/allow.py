"""Allow-lists applied to the report of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...base.allow import AllowEntry, apply
from ...findings import Finding, Severity
from ...results.model import Report
from ...results.notes.source_notes import add_source_notes
from ..artifact.model import CompiledModel
from ..artifact.operators import find_operators


def sort_findings(report: Report, findings: Sequence[Finding], entries: Sequence[AllowEntry], model: CompiledModel) -> None:
    """Put `findings` into the report, as the model knows them: those that count, and those that an entry accepts. Rows count only
    the former."""
    result = apply(entries, describe_findings(findings, model))
    report.findings, report.allowed, report.expired = result.kept, result.allowed, result.expired
    if not result.allowed:
        return
    for row in report.kernels:
        mine = [finding for finding in result.kept if finding.kernel == row.name]
        row.errors = sum(finding.severity is Severity.ERROR for finding in mine)
        row.warnings = sum(finding.severity is Severity.WARNING for finding in mine)


def describe_findings(findings: Sequence[Finding], model: CompiledModel) -> list[Finding]:
    """Findings with the nodes of the model that they are of, and what the kernels' sources say of them."""
    if not findings:
        return []
    of_kernels = find_operators(model)
    of_tensors = {} if model.plan is None else {tensor.id: tensor.producer for tensor in model.plan.tensors}
    described = []
    for finding in findings:
        code = model.kernels.get(finding.kernel)
        made_by = of_tensors.get(finding.tensor, "")
        nodes = of_kernels.get(finding.kernel, () if finding.kernel or not made_by else (made_by,))
        finding = replace(finding, nodes=finding.nodes or nodes)
        described.append(finding if code is None else add_source_notes(finding, code.source))
    return described
