"""Predicted times of a model's steps, for people."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, TYPE_CHECKING

from ...results.time_report import KernelTime
from ..console import open_console, teller
from ..table import Column, figure_column, print_table
from ..time.columns import list_columns, note_lines

if TYPE_CHECKING:
    from ...compiler.plan.measured.step_times import StepTimes


def show(times: StepTimes, planner: str, file: IO[str]) -> None:
    """Print a row for each step in order, then the sum."""
    console = open_console(file)
    memory: Column[KernelTime] = figure_column("memory in use", lambda row: f"{times.memory[row.name]:,}")
    first, *others = list_columns(times.report)
    teller(console)(f"steps in their order under the plan {planner}, with the device memory in use at each:")
    print_table(console, [replace(first, title="step"), memory, *others], times.report.rows)
    for line in note_lines(times.report):
        teller(console)(line)
