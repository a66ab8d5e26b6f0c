"""What a device made of plans, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, figure_column, print_table

if TYPE_CHECKING:
    from ...compiler.plan.trial import DeviceTrial

COLUMNS: list[Column[DeviceTrial]] = [
    Column("planner", lambda trial: trial.planner),
    figure_column("storages", lambda trial: str(trial.storages)),
    figure_column("bytes asked", lambda trial: f"{trial.asked:,}"),
    figure_column("bytes taken", lambda trial: f"{trial.taken:,}"),
    figure_column("views", lambda trial: str(trial.views)),
    figure_column("images apart", lambda trial: str(trial.apart)),
    figure_column("their bytes", lambda trial: f"{trial.apart_bytes:,}"),
    figure_column("peak of a run", lambda trial: "-" if trial.peak is None else f"{trial.peak:,}"),
    figure_column("ms", lambda trial: f"{trial.seconds * 1e3:.1f}"),
    figure_column("accepted?", lambda trial: f"{len(trial.refused)} refused" if trial.refused else "yes"),
]

MOST = 3
"""Refusals of a plan that are shown; the others are counted."""


def show(trials: Sequence[DeviceTrial], device: str, file: IO[str]) -> None:
    """Print a line for each plan, and what was refused."""
    console = open_console(file)
    say = teller(console)
    say(f"allocated on {device}, storages and views of tensors together with those left alone:")
    print_table(console, COLUMNS, trials)
    for trial in trials:
        for refusal in trial.refused[:MOST]:
            whose = "" if refusal.planned else " (left alone by every planner)"
            say(f"{trial.planner}: {refusal.what}{whose}: {refusal.message}")
        if trial.not_run:
            say(f"{trial.planner}: not run: {trial.not_run}")
        if len(trial.refused) > MOST:
            say(f"{trial.planner}: {len(trial.refused) - MOST} more refused")
