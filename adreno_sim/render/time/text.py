"""Predicted times for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results.time_report import TimeReport
from ..console import teller
from ..table import print_table
from .columns import list_columns, note_lines

if TYPE_CHECKING:
    from rich.console import Console


def show_times(console: Console, report: TimeReport | None, rank: bool = False) -> None:
    """Print a row for each kernel, then the sum; nothing without times. rank: rows are ways to do the same."""
    if report is None:
        return
    if report.kernels:
        print_table(console, list_columns(report, rank), report.rows)
    for line in note_lines(report, rank):
        teller(console)(line)
