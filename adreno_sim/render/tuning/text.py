"""A tuning run for people: each task with its best candidate, and every rejected one with its reason."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from ...timing.model import PARTS
from ..console import open_console, teller
from ..table import Column, figure_column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.schedule_search.report import CandidateResult, TaskReport, TuneReport


def show(report: TuneReport, file: IO[str], everything: bool = False) -> None:
    """Print the tasks; of the accepted candidates only the best, unless `everything`."""
    console = open_console(file)
    say = teller(console)

    timed = f", timed on {report.timed_on}" if report.timed_on else ""
    say(f"{report.model}, target {report.target}, TVM {report.tvm}, checked on {report.checked_on}{timed}")
    say(f"ranking: {report.ranking}" + (f"; {report.resumed} candidates from earlier runs" if report.resumed else ""))
    for task in report.tasks:
        say("")
        say(f"{', '.join(task.functions)}: {task.operator} on {', '.join(task.shapes)}")
        shown = [trial for trial in task.trials if everything or not trial.accepted or trial == task.best]
        if shown:
            print_table(console, _columns(task, report), shown, pad_edge=False)
        times = list_times(task, everything)
        if times:
            print_table(console, TIMES, times, pad_edge=False)
        registers = list_registers(task, everything)
        if registers:
            print_table(console, REGISTERS, registers, pad_edge=False)
        say(summary(task, report))
    say("")
    say(f"{'ok' if report.ok else 'failed: a task has no accepted candidate'}; apply with: check MODEL --tuned {report.folder}")


def _columns(task: TaskReport, report: TuneReport) -> list[Column[CandidateResult]]:
    def verdict(trial: CandidateResult) -> str:
        return ("best" if trial == task.best else "ok") if trial.accepted else f"{trial.stage}: {trial.reason}"

    return [
        Column("", lambda trial: str(trial.number), right=True, breaks=True),
        text_column("variant", lambda trial: trial.variant),
        text_column("tiles, unroll", lambda trial: " ".join(trial.decisions)),
        text_column("ms" if report.timed else "predicted ms", lambda trial: rank_text(trial.rank)),
        text_column("accepted, or why not", verdict),
    ]


Timed = tuple[str, dict[str, float]]
"""A candidate's number, or "default", and its predicted time."""

InRegisters = tuple[str, dict[str, Any]]
"""The same, and what it takes of registers."""

BEST = 3
"""Accepted candidates whose times are listed."""


def list_times(task: TaskReport, everything: bool = False) -> list[Timed]:
    """The predicted times of the best candidates (or of every accepted one) in their order, and of the default schedule."""
    chosen = [(str(trial.number), trial.time) for trial in _choose(task, everything)]
    return [(name, time) for name, time in [*chosen, ("default", task.default_time)] if time is not None]


def list_registers(task: TaskReport, everything: bool = False) -> list[InRegisters]:
    """What the same candidates and the default schedule take of a chip's registers, where it was asked for."""
    chosen = [(str(trial.number), trial.register_use) for trial in _choose(task, everything)]
    return [(name, use) for name, use in [*chosen, ("default", task.default_register_use)] if use is not None]


def _choose(task: TaskReport, everything: bool) -> list[CandidateResult]:
    ranked = sorted(task.accepted, key=lambda trial: trial.rank if trial.rank is not None else float("inf"))
    return ranked if everything else ranked[:BEST]


def _part(title: str, name: str) -> Column[Timed]:
    """A part of the time, in microseconds."""

    def show(timed: Timed) -> str:
        value = timed[1].get(name, 0) * 1e6
        return "" if not value else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"

    return figure_column(title, show)


TIMES: list[Column[Timed]] = [
    text_column("predicted us", lambda timed: timed[0]),
    _part("total", "seconds"),
    *(_part(name, name) for name in (*PARTS.values(), "launch")),
]
"""Why one candidate ranks before another: the parts, each as if it were alone."""


def _range(name: str) -> Column[InRegisters]:
    """The least and the most, where they differ."""

    def show(found: InRegisters) -> str:
        least, most = found[1][name]
        return f"{least:,}" if least == most else f"{least:,}..{most:,}"

    return figure_column(name.replace("_", " "), show)


REGISTERS: list[Column[InRegisters]] = [
    text_column("registers of", lambda found: found[0]),
    text_column("chip", lambda found: found[1]["chip"]),
    *map(_range, ("registers", "waves", "spills", "group_limit")),
    text_column("by", lambda found: found[1]["by"]),
]
"""Whether a schedule leaves room for other waves: docs/machine-code.md."""


def rank_text(rank: float | None) -> str:
    """Milliseconds."""
    return "" if rank is None else f"{rank * 1e3:.4g}"


def summary(task: TaskReport, report: TuneReport) -> str:
    """How many candidates there were, and how the best compares with the schedule the pipeline has."""
    rejected = ", ".join(f"{count} {stage}" for stage, count in task.rejected.items())
    counts = f"{len(task.trials)} candidates, {len(task.accepted)} accepted" + (f", rejected: {rejected}" if rejected else "")
    if task.default is None:
        return f"{counts}; the default schedule: {task.default_reason or 'not judged'}"
    if task.best is None or task.best.rank is None:
        return counts
    times = f"{task.default / task.best.rank:.2f}" if task.best.rank else "?"
    worth = "" if report.timed else " (predicted)"
    best, default = rank_text(task.best.rank), rank_text(task.default)
    return f"{counts}; best {best} ms, default schedule {default} ms: {times}x{worth}"
