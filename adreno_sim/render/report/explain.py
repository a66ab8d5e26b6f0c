"""Findings under their source line, in the manner of a compiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from ...base.text.line_markers import number_lines
from ...base.text.spelling import encode_exactly, spell_line, spell_printed
from ...findings import Finding, Severity
from ...results import finding_text
from ..console import open_console

if TYPE_CHECKING:
    from rich.text import Text

STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
CONTEXT = 2
"""Source lines shown before the one a finding is at."""
SHOWN = 160
"""Columns of a source line that are shown."""
TAB = 4

Span = tuple[str, str]
"""Text and its style, "" for none."""


def explain(finding: Finding, source: str) -> str:
    """The finding with its source lines and a caret, as plain text."""
    return spell_printed("\n".join("".join(text for text, _ in line) for line in _shown_lines(finding, source)))


def show(findings: Iterable[Finding], sources: Mapping[str, str], file: IO[str]) -> None:
    """Print findings, coloured on a terminal. sources: text by the findings' `file`. No other file is read: a kernel gives its
    findings any file's name with a line directive."""
    console = open_console(file)
    for finding in findings:
        for line in _shown_lines(finding, sources.get(finding.file, "")):
            console.print(_text(line), soft_wrap=True)
        console.print()


def _text(line: Sequence[Span]) -> Text:
    from rich.text import Text

    return Text.assemble(*(Text(text, style) for text, style in line))


def _shown_lines(finding: Finding, source: str) -> Iterator[list[Span]]:
    for line in _lines(finding, source):
        yield [(spell_line(text), style) for text, style in line]


def _lines(finding: Finding, source: str) -> Iterator[list[Span]]:
    style = STYLE[finding.severity]
    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part) if finding.line else finding.file
    yield [(f"{place}: " if place else "", "bold"), (f"{finding.severity}: ", style), (finding.message, "bold"),
           (f" [{finding.kind.label}]", style)]  # fmt: skip
    yield from _excerpt(finding, source, style)
    for note in _notes(finding):
        yield [("   = ", "blue"), (note, "")]


def _excerpt(finding: Finding, source: str, style: str) -> Iterator[list[Span]]:
    lines = number_lines(source)
    if finding.line not in lines:
        return
    width = len(str(finding.line))
    for number in range(finding.line - CONTEXT, finding.line):
        if number in lines:
            yield [(f" {number:>{width}} | ", "blue"), (_show_source(lines[number])[:SHOWN], "")]
    text = _show_source(lines[finding.line])
    before = encode_exactly(lines[finding.line])[: max(0, finding.column - 1)]  # columns are bytes
    caret = len(_show_source(before.decode("utf-8", "surrogateescape")))
    start = max(0, caret - SHOWN // 2) if len(text) > SHOWN else 0
    yield [(f" {finding.line:>{width}} | ", "blue"), (text[start : start + SHOWN], "")]
    if finding.column:
        yield [(f" {'':>{width}} | ", "blue"), (" " * (caret - start) + "^", style)]


def _show_source(line: str) -> str:
    return spell_line(line.expandtabs(TAB))


def _notes(finding: Finding) -> Iterator[str]:
    """What is known besides the place, one thing a line."""
    if finding.kernel:
        yield f"kernel {finding.kernel}{finding_text.called_from(finding)}" + (
            f", tensor {finding.tensor}" if finding.tensor else ""
        )
    if finding.work_item is not None:
        yield f"work-item {finding_text.work_item(finding.work_item)}"
    if finding.access is not None and finding.access.size:
        yield f"access {finding_text.access(finding.access)}"
    if finding.count > 1:
        yield f"{finding.count} times; this is the first"
    yield from (line.strip() for line in finding_text.stores(finding.detail))
