"""Predicted times for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..console import teller

if TYPE_CHECKING:
    from rich.console import Console

    from ...results.time_report import TimeReport


def show_times(console: Console, report: TimeReport | None, rank: bool = False) -> None:
    """Print a row for each kernel, then the sum; nothing without times. rank: rows are ways to do the same."""
    if report is None:
        return
    from ..table import print_table
    from .columns import list_columns, note_lines

    if report.kernels:
        print_table(console, list_columns(report, rank), report.rows)
    for line in note_lines(report, rank):
        teller(console)(line)
