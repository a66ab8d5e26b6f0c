"""Findings as workflow commands of GitHub Actions: `::error file=conv.cl,line=7,col=3::...`."""

from __future__ import annotations

from collections.abc import Iterable

from ...base.text.spelling import ANYWHERE_COMMAND, spell_line, spell_lines
from ...findings import Finding, Severity, rank
from ...frontend.diagnostics import Diagnostic
from ...results.finding_text import work_item

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def annotation(finding: Finding) -> str:
    """One line; without a file the annotation belongs to the run as a whole."""
    properties = {"file": finding.file} if finding.file else {}
    if finding.file and finding.line:
        properties["line"] = str(finding.line)
        if finding.column:
            properties["col"] = str(finding.column)
    properties["title"] = finding.kind.label
    said = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    return f"::{_COMMAND[finding.severity]} {said}::{escape(_message(finding))}"


def lines(findings: Iterable[Finding]) -> list[str]:
    """The annotations of `findings`, most severe first: GitHub shows only the first few of each severity."""
    return [annotation(finding) for finding in sorted(findings, key=rank)]


def diagnostic_lines(diagnostics: Iterable[object]) -> list[str]:
    """The annotations of what a compiler says against a kernel: errors and warnings at their places."""
    found = []
    for item in diagnostics:
        if isinstance(item, Diagnostic) and item.severity != "note":
            place = {"file": item.file, "line": str(item.line), "col": str(item.column)} if item.file and item.line else {}
            said = ",".join(f"{key}={escape_property(value)}" for key, value in {**place, "title": "does not compile"}.items())
            found.append(f"::{item.severity} {said}::{escape(item.message)}")
    return found


def _message(finding: Finding) -> str:
    parts = [f"kernel {finding.kernel}: {finding.message}" if finding.kernel else finding.message]
    if finding.work_item is not None:
        parts.append(f"work-item {work_item(finding.work_item)}")
    if finding.count > 1:
        parts.append(f"{finding.count} times")
    return "; ".join(parts)


def escape(text: str) -> str:
    """Text as the message of a workflow command, in which the runner finds no other."""
    return ANYWHERE_COMMAND.sub(r"\1\\x5b", spell_lines(text)).replace("%", "%25").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as the value of a property of one."""
    return escape(spell_line(text)).replace(":", "%3A").replace(",", "%2C")
