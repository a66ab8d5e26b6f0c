"""Findings as workflow commands of GitHub Actions: `::error file=conv.cl,line=7,col=3::...`."""

from __future__ import annotations

from collections.abc import Iterable

from ...base.text.spelling import ANYWHERE_COMMAND, spell_line, spell_lines
from ...explanations import help_of
from ...findings import Finding, Severity, rank
from ...frontend.diagnostics import Diagnostic
from ...results.finding_text import node_words, note_line, work_item
from ...results.run_report import host_call_of

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
    """What an annotation says; where it has no file to point into, also the line of the kernel, its text, and the host's call."""
    of_program = host_call_of(finding) if not finding.file else None
    of_nodes = f" ({node_words(finding)})" if finding.nodes else ""
    line = f", line {finding.line}" if finding.line and of_program else ""
    parts = [f"kernel {finding.kernel}{of_nodes}{line}: {finding.message}" if finding.kernel else f"{finding.message}{of_nodes}"]
    if of_program and finding.detail.get("source"):
        parts.append(str(finding.detail["source"]))
    if finding.work_item is not None:
        parts.append(f"work-item {work_item(finding.work_item)}")
    if of_program:
        parts.append(str(of_program))
    if finding.count > 1:
        parts.append(f"{finding.count} times")
    notes = [note_line(note, finding) for note in finding.notes]
    return "\n".join(["; ".join(parts), *notes, f"help: {help_of(finding)}"])


def escape(text: str) -> str:
    """Text as the message of a workflow command, in which the runner finds no other."""
    return ANYWHERE_COMMAND.sub(r"\1\\x5b", spell_lines(text)).replace("%", "%25").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as the value of a property of one."""
    return escape(spell_line(text)).replace(":", "%3A").replace(",", "%2C")
