"""Findings under their source line, in the manner of a compiler."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import IO

from ...base.text.line_markers import number_lines
from ...base.text.spelling import encode_exactly, spell_line, spell_printed
from ...explanations import help_of
from ...findings import Finding, Note, Severity
from ...results import finding_text
from ..console import Span, open_console, say_spans

STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
CONTEXT = 2
"""Source lines shown before the one a finding is at."""
SHOWN = 160
"""Columns of a source line that are shown."""
LEAST = 20
"""Columns of a source line that are shown on any terminal."""
ENDLESS = 10_000
"""Columns where nothing has a width."""
TAB = 4

_FACT = "   = "
"""How a line begins that says more."""


def explain(finding: Finding, source: str) -> str:
    """The finding with its source lines, a caret, and its notes below theirs, as plain text."""
    lines = _shown_lines(finding, {finding.file: source}, ENDLESS)
    return spell_printed("\n".join("".join(text for text, _ in line) for line in lines))


def show(findings: Iterable[Finding], sources: Mapping[str, str], file: IO[str]) -> None:
    """Print findings, coloured on a terminal. sources: text by the findings' `file`. No other file is read: a kernel gives its
    findings any file's name with a line directive."""
    console = open_console(file)
    for finding in findings:
        for line in _shown_lines(finding, sources, console.width if console.is_terminal else ENDLESS):
            say_spans(console, line, _is_sentence(line))
        say_spans(console, [], is_sentence=False)


def _is_sentence(line: Sequence[Span]) -> bool:
    """Whether a line holds words, no source and no patch."""
    text, style = line[0]
    return style == "bold" or text == _FACT


def _shown_lines(finding: Finding, sources: Mapping[str, str], columns: int) -> Iterator[list[Span]]:
    for line in _lines(finding, sources, columns):
        yield [(spell_line(text), style) for text, style in line]


def _lines(finding: Finding, sources: Mapping[str, str], columns: int) -> Iterator[list[Span]]:
    style = STYLE[finding.severity]
    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part) if finding.line else finding.file
    yield [(f"{place}: " if place else "", "bold"), (f"{finding.severity}: ", style), (finding.message, "bold"),
           (f" [{finding.kind.label}]", style)]  # fmt: skip
    lines = number_lines(sources.get(finding.file, ""))
    shown = [note for note in finding.notes if note.file in ("", finding.file) and note.line in lines and finding.line in lines]
    yield from _excerpt(finding, lines, shown, columns)
    for note in finding.notes:
        if note not in shown:
            yield [(_FACT, "blue"), (finding_text.note_line(note, finding), "")]
    for told in _facts(finding):
        yield [(_FACT, "blue"), (told, "")]
    yield [(_FACT, "blue"), ("help: ", "bold"), (help_of(finding), "")]
    for line in finding_text.patch_lines(finding):
        yield [(f"   {line.removeprefix('  ')}" if line.startswith("  patch") else f" {line}", _patch_style(line))]


def _patch_style(line: str) -> str:
    return {"+": "green", "-": "red"}.get(line[2:3], "")


def _excerpt(finding: Finding, lines: Mapping[int, str], notes: Sequence[Note], columns: int) -> Iterator[list[Span]]:
    """The line of the finding with those before it, and the lines of its notes, each with what there is to say of it. columns:
    of the screen; of a longer line the part around its mark is shown."""
    if finding.line not in lines:
        return
    marks: dict[int, list[tuple[int, str, str]]] = {finding.line: [(finding.column, "^", "")]}
    for note in notes:
        marks.setdefault(note.line, []).append((note.column, "-", note.label))
    before = [number for number in range(finding.line - CONTEXT, finding.line) if number in lines]
    numbers = _fill_gaps({*marks, *before}, lines)
    width = len(str(numbers[-1]))
    most = max(LEAST, min(SHOWN, columns - width - 4))
    for last, number in zip([numbers[0] - 1, *numbers], numbers, strict=False):
        if number > last + 1:
            yield [(f" {'':>{width}} ...", "blue")]
        at = sorted(marks.get(number, ()), key=lambda mark: (mark[0], mark[1] != "^"))
        start = _first_column(lines[number], at, most)
        yield [(f" {number:>{width}} | ", "blue"), (_show_source(lines[number])[start : start + most], "")]
        for column, mark, label in at:
            if column or label:
                pointer = " " * max(0, _shown_column(lines[number], column) - start) + (mark if column else "")
                style = STYLE[finding.severity] if mark == "^" else "bold blue"
                told = f"{pointer} {label}".rstrip() if column else label
                for text in [told] if len(told) <= most else [*([pointer] if column else []), *textwrap.wrap(label, most)]:
                    yield [(f" {'':>{width}} | ", "blue"), (text, style)]


def _fill_gaps(chosen: Collection[int], lines: Mapping[int, str]) -> list[int]:
    """The numbers of lines in order, with those that alone lie between two of them: a gap would take as much room."""
    return sorted({*chosen, *(number + 1 for number in chosen if number + 2 in chosen and number + 1 in lines)})


def _first_column(line: str, marks: Sequence[tuple[int, str, str]], most: int) -> int:
    """The column with which the part of a line begins that is shown: all of it, or what is around its first mark."""
    if not marks or len(_show_source(line)) <= most:
        return 0
    return max(0, _shown_column(line, marks[0][0]) - most // 2)


def _shown_column(line: str, column: int) -> int:
    """Where a column, counted in bytes, is in a line as it is shown."""
    return len(_show_source(encode_exactly(line)[: max(0, column - 1)].decode("utf-8", "surrogateescape")))


def _show_source(line: str) -> str:
    return spell_line(line.expandtabs(TAB))


def _facts(finding: Finding) -> Iterator[str]:
    """What is known besides the place, one thing a line."""
    if finding.nodes:
        yield finding_text.node_words(finding)
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
