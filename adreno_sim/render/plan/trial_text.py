"""What a device made of plans, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from ..console import open_console

if TYPE_CHECKING:
    from ...compiler.plan.trial import Trial

MOST = 3
"""Refusals of a plan that are shown; the others are counted."""


def show(trials: Sequence[Trial], device: str, file: IO[str]) -> None:
    """Print a line for each plan, and what was refused."""
    from rich import box
    from rich.table import Table

    console = open_console(file)
    console.print(f"allocated on {device}, storages and views of tensors together with those left alone:", markup=False)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("planner", no_wrap=True)
    for name in ("storages", "bytes asked", "bytes taken", "views", "images apart", "their bytes", "ms", "accepted?"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in trials:
        figures = [f"{trial.asked:,}", f"{trial.taken:,}", str(trial.views), str(trial.apart), f"{trial.apart_bytes:,}"]
        said = "yes" if not trial.refused else f"{len(trial.refused)} refused"
        table.add_row(trial.planner, str(trial.storages), *figures, f"{trial.seconds * 1e3:.1f}", said)
    console.print(table)
    for trial in trials:
        for refusal in trial.refused[:MOST]:
            whose = "" if refusal.planned else " (left alone by every planner)"
            console.print(f"{trial.planner}: {refusal.what}{whose}: {refusal.message}", soft_wrap=True, markup=False)
        if len(trial.refused) > MOST:
            console.print(f"{trial.planner}: {len(trial.refused) - MOST} more refused", markup=False)
