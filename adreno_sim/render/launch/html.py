"""The report of one launch as a page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ...results.plain_text import allow_lines
from ..counters.html import list_parts
from ..isa import html as isa
from ..page import escape
from ..report.html import list_findings, list_of, section, verdict_of
from ..time import html as time
from ..viewer.html import LOOKS, view_page
from .text import by_severity, comparison_lines, coverage_line, output_line

if TYPE_CHECKING:
    from ...results.launch_report import LaunchReport


def write_html(path: str | os.PathLike[str], report: LaunchReport, command: str = "") -> None:
    """Write the page. command: the line that made it. AdrenoSimError if the file cannot be written."""
    write_text(path, of_report(report, command))


def of_report(report: LaunchReport, command: str = "") -> str:
    """The page of one launch."""
    sizes = " x ".join(map(str, report.global_size))
    groups = " x ".join(map(str, report.local_size)) if report.local_size else "as the device chooses"
    variant = f", variant {report.variant}" if report.variant else ""
    facts = f"{report.source}, {report.launch}{variant}, checks {report.checks}, {sizes} work-items in groups: {groups}"
    sources = {**report.included, report.source: report.text}
    listed = by_severity([*report.findings, *report.expected])
    parts = [verdict_of(report.verdict, report.ok), f"<p>{escape(facts)}</p>"]
    parts += list_findings(listed, lambda finding: sources.get(finding.file, ""), file="")
    parts.append(LOOKS)
    parts += section("Expected, but not seen", [list_of(report.missing)] if report.missing else [])
    parts += section("Accepted", [f"<p>{escape(line)}</p>" for line in allow_lines(report.allowed, report.expired)])
    parts += section("Not checked", [list_of(report.unchecked)] if report.unchecked else [])
    parts += section("Outputs", [list_of(map(output_line, report.outputs))] if report.outputs else [])
    parts += section("Never written", [list_of(map(coverage_line, report.coverage))] if report.coverage else [])
    parts += section("Beside another device", [list_of(comparison_lines(report))] if report.compared is not None else [])
    parts += section("Readings", [list_of(report.readings.lines())] if report.readings is not None else [])
    parts += section("Counters", list_parts([(report.kernel, report.counters)]) if report.counters is not None else [])
    parts += section("Predicted time", time.list_parts(report.time))
    parts += section("Machine code", isa.list_parts(report.machine_code or ()))
    parts += section("Printed", [f"<pre>{escape(report.printed)}</pre>"] if report.printed else [])
    return view_page(f"{report.kernel} on {report.device}", parts, report.evidence, listed, command)
