"""A sweep as a Markdown table, for the summary of a CI job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markdown import cell
from ..table import list_markdown_lines
from .text import line, list_columns, summary

if TYPE_CHECKING:
    from ...sweep.run import Sweep

MOST = 20
"""Lines of findings and of cases without a verdict that are shown; the reports have all."""


def text(sweep: Sweep) -> str:
    """The table, why cases came to no verdict, errors."""
    from . import findings

    said = [line(case, result) for case, result in sweep.results if result.outcome.status not in ("ok", "findings")]
    errors = sorted(findings.findings(sweep), key=lambda finding: -finding.severity)
    for finding in errors:
        where = f"{finding.file}: kernel {finding.kernel}" if finding.kernel else finding.file
        said.append(f"{finding.severity}: {finding.kind.label}: {where}: {finding.message}")
    lines = ["### Checks on simulated Adreno GPUs", "", cell(summary(sweep)), ""]
    lines += list_markdown_lines(list_columns(sweep), sweep.results)
    lines += ["", *(f"* {cell(sentence)}" for sentence in said[:MOST])]
    lines += [f"* and {len(said) - MOST} more"] if len(said) > MOST else []
    return "\n".join(lines) + "\n"
