"""A tuning run for people: each task with its best candidate, and every rejected one with its reason."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.tuning.report import TaskReport, Trial, TuneReport


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
        say(summary(task, report))
    say("")
    say(f"{'ok' if report.ok else 'failed: a task has no accepted candidate'}; apply with: check MODEL --tuned {report.folder}")


def _columns(task: TaskReport, report: TuneReport) -> list[Column[Trial]]:
    def verdict(trial: Trial) -> str:
        return ("best" if trial == task.best else "ok") if trial.accepted else f"{trial.stage}: {trial.reason}"

    return [
        Column("", lambda trial: str(trial.number), right=True, breaks=True),
        text_column("variant", lambda trial: trial.variant),
        text_column("tiles, unroll", lambda trial: " ".join(trial.decisions)),
        text_column(rank_title(report), lambda trial: rank_text(trial.rank, report)),
        text_column("accepted, or why not", verdict),
    ]


def rank_title(report: TuneReport) -> str:
    return "ms" if report.timed else "cost"


def rank_text(rank: float | None, report: TuneReport) -> str:
    """Milliseconds, or millions of the static cost's bytes."""
    if rank is None:
        return ""
    return f"{rank * 1e3:.4g}" if report.timed else f"{rank * 1e3:.4g} MB"


def summary(task: TaskReport, report: TuneReport) -> str:
    """How many candidates there were, and how the best compares with the schedule the pipeline has."""
    rejected = ", ".join(f"{count} {stage}" for stage, count in task.rejected.items())
    counts = f"{len(task.trials)} candidates, {len(task.accepted)} accepted" + (f", rejected: {rejected}" if rejected else "")
    if task.default is None:
        return f"{counts}; the default schedule: {task.default_reason or 'not judged'}"
    if task.best is None or task.best.rank is None:
        return counts
    times = f"{task.default / task.best.rank:.2f}" if task.best.rank else "?"
    worth = "" if report.timed else " (static cost, unverified against hardware)"
    best, default = rank_text(task.best.rank, report), rank_text(task.default, report)
    return f"{counts}; best {best}, default schedule {default}: {times}x{worth}"
