"""A sweep for people: a line for each case, then how many came to what."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console

if TYPE_CHECKING:
    from ...sweep.case import Case, Result
    from ...sweep.run import Sweep

FIGURES = ("kernels", "errors", "warnings", "max ulp", "plan bytes", "ratio", "s")
STYLE = {"ok": "green", "unsupported": "yellow"}


def line(case: Case, result: Result) -> str:
    """One case as it ends."""
    outcome = result.outcome
    when = "done before" if result.resumed else f"{outcome.seconds:.1f} s"
    return f"{case.model} on {case.device}{f' ({case.target})' if case.target else ''}: {outcome.message} [{when}]"


def show(sweep: Sweep, file: IO[str]) -> None:
    """Print the table, why cases did not come to a verdict, and the sum."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = open_console(file)
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("model", "device", "target", "result"):
        table.add_column(name, overflow="fold")
    for name in FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    for case, result in sweep.results:
        status = Text(result.outcome.status, style=STYLE.get(result.outcome.status, "bold red"))
        table.add_row(case.model, case.device, case.target, status, *figures(result))
    console.print(table)
    for case, result in sweep.results:
        if result.outcome.status not in ("ok", "findings"):
            console.print(line(case, result), soft_wrap=True, markup=False)
    console.print(summary(sweep), soft_wrap=True, markup=False)


def summary(sweep: Sweep) -> str:
    """One line."""
    counts = ", ".join(f"{count} {status}" for status, count in sweep.counts().items() if count)
    resumed = sum(result.resumed for _, result in sweep.results)
    return f"{len(sweep.results)} cases: {counts or 'none'}{f'; {resumed} of them done before' if resumed else ''}"


def figures(result: Result) -> list[str]:
    """The cells of FIGURES, empty where there is no report."""
    outcome = result.outcome
    seconds = f"{outcome.seconds:.1f}"
    if not outcome.kernels:
        return ["", "", "", "", "", "", seconds]
    plan = outcome.plan
    sizes = [f"{plan['planned']:,}", f"{plan['planned'] / max(plan['live_lower_bound'], 1):.3f}"] if plan else ["", ""]
    counts = [str(outcome.errors), str(outcome.warnings), str(outcome.max_ulp)]
    return [f"{outcome.checked} of {outcome.kernels}", *counts, *sizes, seconds]
