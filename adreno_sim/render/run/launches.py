"""The launches of a replay one by one, with their counters and predicted times, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from ...results.run_report import LaunchRow, RunReport
from ...results.time_limits import show_duration
from ..console import open_console
from ..counters.text import show_kernels
from ..table import Column, figure_column, print_table, text_column
from ..time.text import show_times


def _sizes(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))


def _findings(row: LaunchRow) -> str:
    if row.seconds is None:
        return ", ".join(["refused", *row.findings])
    return ", ".join(f"{count} {kind}" for kind, count in row.findings.items())


def list_columns(rows: Sequence[LaunchRow]) -> list[Column[LaunchRow]]:
    """The columns of a list of launches; a column that no launch has something in is left out."""
    columns = [
        figure_column("launch", lambda row: str(row.number)),
        text_column("kernel", lambda row: row.kernel),
        figure_column("global", lambda row: _sizes(row.global_size)),
        figure_column("local", lambda row: _sizes(row.local_size)),
        figure_column("offset", lambda row: _sizes(row.offset)),
        figure_column("here", lambda row: "" if row.seconds is None else show_duration(row.seconds)),
        figure_column("predicted", lambda row: "" if row.predicted is None else show_duration(row.predicted)),
        figure_column("call", lambda row: str(row.call)),
        text_column("arguments", lambda row: ", ".join(row.arguments)),
        text_column("findings", _findings, lambda row: "red" if row.findings else ""),
    ]
    return [column for column in columns if any(map(column.show, rows))]


def show_launches(report: RunReport, file: IO[str]) -> None:
    """Print the tables that were asked for."""
    console = open_console(file)
    rows = [row for process in report.processes for row in process.launches]
    if rows:
        print_table(console, list_columns(rows), rows)
    show_kernels(console, list(report.counters.items()))
    show_times(console, report.time)
