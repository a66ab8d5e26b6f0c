"""The report of a run for people: findings were printed as they came, so that the end says what else is to be known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import IO

from ...results.plain_text import allow_lines
from ...results.run_report import ProcessReport, RunReport
from ..console import load_console, open_console, say_line

MOST_PLACES = 5
"""Places of the program that are named of objects which it never released."""


def prepare_to_show(file: IO[str]) -> None:
    """Import what `show` needs."""
    load_console(file)


def show(report: RunReport, file: IO[str], command: str = "run") -> None:
    """Print what is accepted, unsupported, not checked or never released, then the verdict."""
    console = open_console(file)
    for line in _lines(report):
        say_line(console, line)
    good = report.judgement == 0
    say_line(console, f"adreno-sim {command}: {report.verdict}", "bold green" if good else "bold red")


def _lines(report: RunReport) -> Iterator[str]:
    yield from allow_lines(report.allowed, report.expired)
    yield from (f"unsupported: {what}" for what in report.unsupported)
    yield from (f"not checked: {sentence}" for sentence in report.unchecked)
    yield from report.readings.lines() if report.readings is not None else ()
    yield from (f"not as recorded: {sentence}" for sentence in report.differs)
    for process in report.processes:
        yield from _process_lines(process)


def _process_lines(process: ProcessReport) -> Iterator[str]:
    who = f"{process.program} ({process.pid})"
    if process.failed:
        yield f"failed: {who}: {process.failed}"
    if process.leaks:
        kinds = sorted({leak.type for leak in process.leaks})
        yield f"never released: {who}: {len(process.leaks)} objects ({', '.join(kinds)})"
        places = Counter((leak.type, leak.where.partition(", from ")[2]) for leak in process.leaks)
        for (kind, place), count in places.most_common(MOST_PLACES):
            if place:
                yield f"  {count} {kind} from {place}"
