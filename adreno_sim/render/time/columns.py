"""What the table of predicted times shows: a kernel in each row, and what is said below it."""

from __future__ import annotations

from collections.abc import Iterator

from ...results.time_limits import NOISE, show_duration
from ...results.time_report import KernelTime, TimeReport
from ...timing.machines import SPREAD
from ..table import Column, figure_column, text_column

ORIGINS = {
    "measured": "by rates that were measured on this device",
    "scaled": "by rates that were published for this chip",
    "guess": "by rates of related chips",
}


def list_columns(report: TimeReport, rank: bool = False) -> list[Column[KernelTime]]:
    """The columns; those of a baseline where there is one. rank: rows are ways to do the same, the fastest first."""
    fastest = report.rows[0].seconds if report.kernels else 0.0
    return [
        text_column("predicted time", lambda row: row.name),
        figure_column("launches", lambda row: f"{row.launches:,}"),
        figure_column("time", lambda row: show_duration(row.seconds)),
        figure_column("from", lambda row: show_duration(row.low)),
        figure_column("to", lambda row: show_duration(row.high)),
        figure_column("to the first", lambda row: f"{row.seconds / fastest:.2f}")
        if rank
        else figure_column("share", lambda row: f"{row.seconds / report.seconds:.0%}" if report.seconds else ""),
        text_column("bound by", lambda row: row.bound),
        text_column("error", lambda row: row.error),
        *([figure_column("before", _before), figure_column("ratio", _ratio)] if report.before is not None else []),
    ]


def _before(row: KernelTime) -> str:
    return "new" if row.before is None else show_duration(row.before)


def _ratio(row: KernelTime) -> str:
    return f"{row.seconds / row.before:.2f}" if row.before else ""


def total_line(report: TimeReport) -> str:
    """The sum, its interval, and what it is worth."""
    if not report.kernels:
        return f"predicted time on {report.device}: none"
    spread = f"{SPREAD[report.error]:g}"
    before = "" if report.before is None else f"; before: {show_duration(report.before)}"
    return (
        f"predicted time on {report.device}: {show_duration(report.seconds)}, from {show_duration(report.low)} to "
        f"{show_duration(report.high)}{before} ({report.error}: {ORIGINS[report.error]}; nine of ten within a factor of {spread})"
    )


def rank_line(report: TimeReport) -> str:
    """What a ranking is worth."""
    return (
        f"predicted times on {report.device} ({report.error}: {ORIGINS[report.error]}); what they have wrong about the device is "
        f"the same for all: a difference says something beyond a factor of {NOISE:g}"
    )


def note_lines(report: TimeReport, rank: bool = False) -> Iterator[str]:
    """The sum, why some times are guesses, and what has none."""
    yield rank_line(report) if rank else total_line(report)
    for number, call in enumerate(report.calls):
        if call.seconds:
            rate = f"{1 / call.seconds:.3g} a second (from {1 / call.high:.3g} to {1 / call.low:.3g})"
            yield f"call {number} ({call.function}): {show_duration(call.seconds)}, {rate}"
    for row in report.rows:
        for reason in row.unknown:
            yield f"{row.name}: a guess: {reason}"
    for sentence in report.missing:
        yield f"no time: {sentence}"
