"""Several launches by their predicted times, for terminals and as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from ...base.output_file import write_text
from ...base.text.stream import show_on
from ...results.launch_report import LaunchReport
from ...results.time_report import TimeReport
from ..console import open_console, teller
from ..page import document
from ..report.html import section
from ..time.html import list_parts
from ..time.text import show_times
from . import text


def show_ranking(ranking: TimeReport | None, launches: Sequence[tuple[str, LaunchReport]], file: IO[str]) -> None:
    """Print what is wrong with launches that are, then the times of the others, the fastest first."""
    console = open_console(show_on(file))
    for name, report in launches:
        if report.exit_code:
            teller(console)(f"{name}:")
            text.show(report, file)
    show_times(console, ranking, rank=True)


def write_ranking(path: str | os.PathLike[str], ranking: TimeReport, launch: str, command: str = "") -> None:
    """Write the page. AdrenoSimError if the file cannot be written."""
    parts = section("Predicted times", list_parts(ranking, rank=True))
    write_text(path, document(f"{launch} on {ranking.device}", "", parts, command=command))
