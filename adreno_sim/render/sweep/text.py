"""A sweep for people: a line for each case, then how many came to what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING

from ...results.time_limits import show_duration
from ...results.unwatched import level_words
from ..console import open_console, teller
from ..table import Column, figure_column, print_table, text_column

if TYPE_CHECKING:
    from ...sweep.case import Case, Outcome, Result
    from ...sweep.run import Sweep

STYLE = {"ok": "green", "unsupported": "yellow"}


def _if_reported(title: str, show: Callable[[Outcome], str]) -> Column[tuple[Case, Result]]:
    """A figure of the report, empty where there is none."""
    return figure_column(title, lambda row: show(row[1].outcome) if row[1].outcome.kernels else "")


def _ratio(plan: Mapping[str, int]) -> float:
    return (plan["planned"] + plan.get("unplanned", 0)) / max(plan["live_lower_bound"], 1)


def _predicted(outcome: Outcome) -> str:
    """The time on the device, and its interval."""
    time = outcome.time
    if time is None:
        return ""
    return f"{show_duration(time['seconds'])} ({show_duration(time['low'])} to {show_duration(time['high'])})"


COLUMNS: list[Column[tuple[Case, Result]]] = [
    text_column("model", lambda row: row[0].label),
    text_column("device", lambda row: row[0].device),
    text_column("target", lambda row: row[0].target),
    text_column("result", lambda row: row[1].outcome.status, style=lambda row: STYLE.get(row[1].outcome.status, "bold red")),
    _if_reported("kernels", lambda outcome: f"{outcome.checked} of {outcome.kernels}"),
    _if_reported("errors", lambda outcome: str(outcome.errors)),
    _if_reported("warnings", lambda outcome: str(outcome.warnings)),
    _if_reported("max ulp", lambda outcome: str(outcome.max_ulp)),
    _if_reported("plan bytes", lambda outcome: f"{outcome.plan['planned']:,}" if outcome.plan else ""),
    _if_reported("ratio", lambda outcome: f"{_ratio(outcome.plan):.3f}" if outcome.plan else ""),
    figure_column("s", lambda row: f"{row[1].outcome.seconds:.1f}"),
]


def list_columns(sweep: Sweep) -> list[Column[tuple[Case, Result]]]:
    """The columns; that of predicted times where they were asked for."""
    timed = any(result.outcome.time is not None for _, result in sweep.results)
    return [*COLUMNS, *([_if_reported("predicted", _predicted)] if timed else [])]


def line(case: Case, result: Result) -> str:
    """One case as it ends."""
    outcome = result.outcome
    when = "done before" if result.resumed else f"{outcome.seconds:.1f} s"
    return f"{case.label} on {case.device}{f' ({case.target})' if case.target else ''}: {outcome.message} [{when}]"


def show(sweep: Sweep, file: IO[str]) -> None:
    """Print the table, why cases did not come to a verdict, and the sum."""
    console = open_console(file)
    say = teller(console)
    print_table(console, list_columns(sweep), sweep.results)
    for case, result in sweep.results:
        if result.outcome.status not in ("ok", "findings"):
            say(line(case, result))
    say(summary(sweep))


def summary(sweep: Sweep) -> str:
    """One line."""
    counts = ", ".join(f"{count} {status}" for status, count in sweep.counts().items() if count)
    resumed = sum(result.resumed for _, result in sweep.results)
    parts = [f"{counts or 'none'}", *([f"{resumed} of them done before"] if resumed else []), *level_words(sweep.lowest_level)]
    total = len(sweep.results)
    return f"{total} case{'' if total == 1 else 's'}: {'; '.join(parts)}"
