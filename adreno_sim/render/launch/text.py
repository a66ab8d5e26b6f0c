"""The report of one launch for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from ...base.text.stream import show_on
from ...findings import Finding, rank
from ...results import finding_text
from ...results.launch_report import ComparedArgument, Coverage, LaunchOutput, LaunchReport
from ...results.plain_text import allow_lines
from ..console import open_console, say_line
from ..report import explain
from ..report.unproven import unproven_lines


def show(report: LaunchReport, file: IO[str], told: str = "") -> None:
    """Print findings under their source lines, most severe first; then what is not proven, outputs, gaps, the line `told`, and
    the verdict."""
    file = show_on(file)
    console = open_console(file)
    if report.printed:
        file.write(report.printed if report.printed.endswith("\n") else report.printed + "\n")
    findings = [*report.findings, *report.expected]
    if report.tried is None:  # else the smallest launch comes first
        findings = by_severity(findings)
    explain.show(findings, {**report.included, report.source: report.text}, file)
    if report.counters is not None:
        from ..counters.text import show_kernel

        show_kernel(console, report.kernel, report.counters)
    if report.machine_code:
        from ..isa.text import show_kernels

        show_kernels(console, report.machine_code)
    if report.time is not None:
        from ..time.text import show_times

        show_times(console, report.time)
    for line in _rest(report):
        say_line(console, line)
    if told:
        say_line(console, told)
    say_line(console, report.verdict, "bold green" if report.ok else "bold red")


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first; equals keep their order."""
    return sorted(findings, key=rank)


def _rest(report: LaunchReport) -> list[str]:
    out = list(unproven_lines(report.source, report.unproven, report.text))
    out += [f"refused, as expected: {report.refused}"] if report.refused else []
    out += [f"expected, but not seen: {sentence}" for sentence in report.missing]
    if report.is_test:
        out += [f"not expected: {finding.kind.label} at {finding_text.location(finding)}" for finding in report.counting]
    out += map(output_line, report.outputs)
    out += map(coverage_line, report.coverage)
    out += comparison_lines(report)
    out += [] if report.readings is None else report.readings.lines()
    out += allow_lines(report.allowed, report.expired)
    return out + [f"not checked: {sentence}" for sentence in report.unchecked]


def comparison_lines(report: LaunchReport) -> list[str]:
    """What two devices left, an argument a line; nothing where it was not compared."""
    found = report.compared
    return [] if found is None else [_compared_line(argument, report.device, found.device) for argument in found.arguments]


def _compared_line(argument: ComparedArgument, device: str, other: str) -> str:
    between = f"{argument.argument}: {device} and {other}"
    if argument.differ:
        return f"{between}: {argument.differ} of {argument.elements} elements DIFFER (max abs {argument.max_abs:.2e})"
    if argument.same:
        return f"{between}: {argument.elements} elements, same bits"
    return f"{between}: {argument.elements} elements agree (max abs {argument.max_abs:.2e}, {argument.max_ulp} ulp)"


def coverage_line(argument: Coverage) -> str:
    """What of an argument was never written, in words."""
    where = "" if argument.unwritten == argument.elements else f" ({argument.where})"
    return f"{argument.argument}: {argument.unwritten} of {argument.elements} elements never written{where}"


def output_line(output: LaunchOutput) -> str:
    """An expected output in words."""
    if not output.ok:
        return f"{output.argument}: {output.wrong} of {output.elements} elements WRONG (max abs {output.max_abs:.2e})"
    if output.vacuous:
        return f"{output.argument}: {output.elements} elements as expected, which says nothing: {output.vacuous}"
    return f"{output.argument}: {output.elements} elements right (max abs {output.max_abs:.2e}, {output.max_ulp} ulp)"
