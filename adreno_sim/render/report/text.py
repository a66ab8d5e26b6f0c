"""A report for people: a table per kernel, the plan, findings, what was not checked, the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO

from ...findings import Finding, Severity, rank
from ...results.model import KernelReport, OutputReport, Report, ScopeSummary
from ...results.plain_text import allow_lines
from ..console import open_console, say_line, teller
from ..counters.text import show_kernels
from ..isa.text import show_kernels as show_machine_code
from ..table import Column, print_table
from ..time.text import show_times
from . import explain, kernel_columns, offload_text
from .unproven import unproven_lines

STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
SHOWN = 3
"""Tensors named for each reason; the JSON has them all."""


def show(report: Report, file: IO[str], notes: bool = False) -> None:
    """Print the whole report; findings under their source lines, those of severity note only with `notes`."""
    console = open_console(file)
    say = teller(console)
    if report.kernels:
        print_table(console, _kernel_columns(report), report.kernels)
    show_kernels(console, [(kernel.name, kernel.counters) for kernel in report.kernels if kernel.counters is not None])
    show_times(console, report.time)
    show_machine_code(console, report.machine_code or ())
    for line in offload_text.lines(report):
        say(line)
    for output in report.outputs:
        say(output_line(output))
    if report.plan is not None:
        say(plan_line(report))
    if report.scopes is not None:
        say(scope_line(report.scopes))
    for function, schedule in report.tuned.items():
        say(f"tuned {function}: {schedule}")
    if any(kernel.accesses for kernel in report.kernels):
        say(access_line(report))
    say(_timing_line(report))
    shown = [finding for finding in sorted(report.findings, key=rank) if notes or finding.severity is not Severity.NOTE]
    _show_findings(report, shown, file)
    hidden = report.count(Severity.NOTE)
    if hidden and not notes:
        say(f"{hidden} note{'s' if hidden > 1 else ''} not shown (--notes)")
    for kernel, accesses in report.unproven.items():
        for line in unproven_lines(kernel, accesses, report.sources.get(kernel, "")):
            say(line)
    for line in allow_lines(report.allowed, report.expired):
        say(line)
    if report.reproduction:
        say(f"reproduction: {report.reproduction}")
    for line in [] if report.readings is None else report.readings.lines():
        say(line)
    for sentence in report.unchecked:
        say(f"not checked: {sentence}")
    say_line(console, report.verdict, "bold green" if report.ok else "bold red")


def _show_findings(report: Report, findings: Sequence[Finding], file: IO[str]) -> None:
    """Print findings under their source lines; a kernel that a compiler made is KERNEL.cl."""
    sources = {f"{name}.cl": source for name, source in report.sources.items()}
    placed = [f if f.file or f.kernel not in report.sources else replace(f, file=f"{f.kernel}.cl") for f in findings]
    explain.show(placed, sources, file)


def _kernel_columns(report: Report) -> list[Column[KernelReport]]:
    device_time = any(kernel.device_seconds is not None for kernel in report.kernels)
    return [
        kernel_columns.NAME,
        kernel_columns.LAUNCHES,
        kernel_columns.SECONDS,
        *([kernel_columns.DEVICE_SECONDS] if device_time else []),
        *kernel_columns.DIFFERENCES,
        *([kernel_columns.beside(report.compared_with)] if report.compared_with else []),
        kernel_columns.FINDINGS,
        kernel_columns.STATUS,
    ]


def output_line(output: OutputReport) -> str:
    """How an output compares with a reference."""
    said = "agrees with" if output.ok else "DIFFERS from"
    vacuous = f"; says nothing: {output.vacuous}" if output.vacuous else ""
    return (
        f"{output.output} {said} {output.reference} (max abs {output.max_abs:.2e}, {output.max_ulp} ulp, "
        f"rms {output.rms:.2e}{vacuous})"
    )


def access_line(report: Report) -> str:
    """The share of accesses that were proven in range: of those executed where they were counted, else of those in the code."""
    known = [(kernel.name, kernel.accesses) for kernel in report.kernels if kernel.accesses is not None]
    counted = [(name, a.executed, a.executed_proven) for name, a in known if a.executed is not None]
    rows = counted or [(name, a.places, a.proven_places) for name, a in known]
    total, proven = sum(n or 0 for _, n, _ in rows), sum(n or 0 for _, _, n in rows)
    left = [f"{name} {(some or 0) / whole:.1%}" for name, whole, some in rows if whole and some != whole]
    what = "executed accesses" if counted else "accesses"
    return f"bounds: {proven:,} of {total:,} {what} proven in range{'; less in ' if left else ''}{', '.join(left)}"


def plan_line(report: Report) -> str:
    """The plan's bytes: as planned, with right texture sizes, live lower bound."""
    plan = report.plan
    assert plan is not None
    what = f"memory plan {report.planner}".rstrip()
    return (
        f"{what}: {plan.planned:,} bytes as planned in {plan.storages} storages, {plan.right:,} with right sizes "
        f"({plan.inflation:.2f}x), {plan.unplanned:,} left to the runtime, live lower bound of both {plan.live_lower_bound:,}"
        f"{f', on the chip {plan.on_chip:,}' if plan.on_chip else ''}"
        f"{_spent('by cause', report.plan_causes, CAUSES)}"
        f"{_spent('besides', {**report.plan_causes, 'constants': plan.constants}, BESIDES)}"
    )


CAUSES = {
    "dense": "tensors at the peak", "padding": "pitch padding", "slots": "storages larger than their tensors",
    "item_size": "item-size inflation",
}  # fmt: skip
"""What a plan's bytes are, each with what it is called: they add up."""

BESIDES = {"pages": "page rounding", "workspace": "workspace", "constants": "constants"}
"""What comes on top of them."""


def _spent(title: str, nbytes: Mapping[str, int], names: Mapping[str, str]) -> str:
    """The bytes of these, without what is nothing."""
    spent = [f"{name} {nbytes[key]:,}" for key, name in names.items() if nbytes.get(key)]
    return f"; {title}: {', '.join(spent)}" if spent else ""


def scope_line(scopes: ScopeSummary) -> str:
    """How many tensors are textures, and why the others are not, a few of them by name."""
    by_reason: dict[str, list[str]] = {}
    for tensor in scopes.buffers:
        by_reason.setdefault(tensor.why.partition(":")[0], []).append(tensor.name)
    reasons = [
        f"{', '.join(names[:SHOWN])}{f' and {len(names) - SHOWN} more' if len(names) > SHOWN else ''} ({reason})"
        for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    ]
    why = f": {', '.join(reasons)}" if reasons else ""
    return f"tensors before fusion: {scopes.textures} in textures, {len(scopes.buffers)} in buffers{why}"


def _timing_line(report: Report) -> str:
    total = sum(report.timings.values())
    return f"time: {total:.1f} s (" + ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.timings.items()) + ")"
