"""A check as one page that asks for nothing from anywhere: verdict, findings with their stores, kernels, plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ...base.text.line_markers import number_lines
from ...findings import Finding, Severity, rank
from ...results import finding_text
from ...results.plain_text import allow_lines
from ..counters.html import list_parts
from ..isa import html as isa
from ..page import escape
from ..time import html as time
from ..viewer.html import LOOKS, view_page
from . import kernel_columns as columns
from . import offload_text
from .text import output_line, plan_line

if TYPE_CHECKING:
    from ...results.model import KernelReport, Report

AROUND = 4
"""Lines of source shown on each side of a finding's."""


def write_html(path: str | os.PathLike[str], report: Report, command: str = "") -> None:
    """Write the page. command: the line that made it. AdrenoSimError if the file cannot be written."""
    write_text(path, of_report(report, command))


def of_report(report: Report, command: str = "") -> str:
    """The page of a whole check."""
    title = f"{report.model} on {report.device}"
    facts = f"{report.target}, pipeline {report.pipeline}, TVM {report.tvm_version}, checks {report.checks}, seed {report.seed}"
    found = sorted(report.findings, key=rank)
    parts = [verdict_of(report.verdict, report.ok), f"<p>{escape(facts)}</p>"]
    parts += list_findings(found, lambda finding: report.sources.get(finding.kernel, ""))
    parts.append(LOOKS)
    parts += section("Accepted", [f"<p>{escape(line)}</p>" for line in allow_lines(report.allowed, report.expired)])
    parts += section("Not checked", [list_of(report.unchecked)] if report.unchecked else [])
    parts += section("Kernels", [_kernels(report.kernels)] if report.kernels else [])
    parts += section("Counters", list_parts([(k.name, k.counters) for k in report.kernels if k.counters is not None]))
    parts += section("Predicted time", time.list_parts(report.time))
    parts += section("Machine code", isa.list_parts(report.machine_code or ()))
    parts += section("OpenCL ML", [list_of(offload_text.lines(report))] if report.subgraphs or report.kept else [])
    parts += section("Readings", [list_of(report.readings.lines())] if report.readings is not None else [])
    parts += section("Outputs", [list_of(output_line(output) for output in report.outputs)] if report.outputs else [])
    parts += section("Memory", [f"<p>{escape(plan_line(report))}</p>"] if report.plan is not None else [])
    parts += section("Inputs", [list_of(f"{i.name}: {i.dtype} {i.shape} from {i.source}" for i in report.inputs)])
    return view_page(title, parts, report.evidence, found, command)


def of_launch(title: str, findings: Sequence[Finding], source: str, said: str, command: str = "") -> str:
    """The page of one launch that failed. said: why, in a line."""
    parts = [verdict_of(said, False), *list_findings(findings, lambda _: source)]
    return view_page(title, parts, None, findings, command)


def section(title: str, parts: Sequence[str]) -> list[str]:
    """A heading and its parts; nothing without parts."""
    return [f"<h2>{escape(title)}</h2>", *parts] if parts else []


def list_findings(findings: Sequence[Finding], source_of: Callable[[Finding], str], file: str | None = None) -> list[str]:
    """A section of findings, numbered as the viewer's data are. source_of, file: of `of_finding`."""
    return section("Findings", [of_finding(number, one, source_of(one), file) for number, one in enumerate(findings)])


def of_finding(number: int, finding: Finding, source: str, file: str | None = None) -> str:
    """One finding; the errors open. source: text of its kernel, "" if it is not known. file: the included file with the line,
    "" for the source itself; the finding's where it is not given.
    """
    lines = number_lines(source, finding.file if file is None else file)
    head, *rest = finding_text.lines(finding)
    detail = f"<pre>{escape(chr(10).join(line[2:] for line in rest))}</pre>" if rest else ""
    shown = " open" if finding.severity is Severity.ERROR else ""
    summary = f'<summary class="{finding.severity}">{escape(head)}</summary>'
    labels = {note.line: note.label for note in reversed(finding.notes) if note.line and note.file in ("", finding.file)}
    return f'<details data-finding="{number}"{shown}>{summary}{detail}{_excerpt(lines, finding.line, labels)}</details>'


def _excerpt(lines: Mapping[int, str], line: int, labels: Mapping[int, str]) -> str:
    """The lines around a finding's, and those of its notes, with what they say. labels: by line."""
    if line not in lines:
        return ""
    around = set(range(line - AROUND, line + AROUND + 1))
    numbers = sorted(number for number in {*around, *labels} if number in lines)
    shown = []
    for last, number in zip([numbers[0] - 1, *numbers], numbers, strict=False):
        if number > last + 1:
            shown.append("  ...")
        row = f"{number:5} {escape(lines[number])}"
        shown.append(f"<mark>{row}</mark>" if number == line else row)
        if number in labels:
            shown.append(f"      <em>{escape(labels[number])}</em>")
    return f"<pre>{chr(10).join(shown)}</pre>"


def verdict_of(text: str, ok: bool) -> str:
    """The verdict as a paragraph."""
    return f'<p class="{"good" if ok else "bad"}"><strong>{escape(text)}</strong></p>'


def list_of(sentences: Iterable[str]) -> str:
    """Sentences as a list."""
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _kernels(kernels: Iterable[KernelReport]) -> str:
    figures = [columns.LAUNCHES, columns.SECONDS, *columns.DIFFERENCES, columns.ERRORS, columns.WARNINGS]
    rows = []
    for kernel in kernels:
        cells = "".join(f'<td class="n">{escape(column.show(kernel))}</td>' for column in figures)
        status = escape(kernel.status)
        rows.append(f'<tr><td><code>{escape(kernel.name)}</code></td>{cells}<td class="{status}">{status}</td></tr>')
    heads = "".join(f"<th>{column.title}</th>" for column in (columns.NAME, *figures, columns.STATUS))
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
