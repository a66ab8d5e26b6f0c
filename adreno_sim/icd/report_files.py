"""The folder into which each server writes its report, and how `adreno-sim run` collects them.

A server that starts leaves a file NAME.open, the journal of what it finds, and in the end NAME.json in its place. If it crashes,
the interpreter has written into NAME.crash how. What it records goes to NAME.trace.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import time
from pathlib import Path

from ..base.errors import AdrenoSimError
from ..base.json_io import write_json
from ..findings import Finding
from ..results.run_encode import process_from_json, process_to_json
from ..results.run_report import ProcessReport
from .journal import Journal, read_journal

_FIRST_LOOK, _LOOK = 0.001, 0.02
"""Seconds between two looks for servers that still run: a server ends a moment after its client."""


class ReportFile:
    """The file of one server. AdrenoSimError if the folder takes no files."""

    def __init__(self, folder: str, report: ProcessReport):
        self._path = Path(folder) / f"process-{report.pid}-{os.getpid()}"
        self.journal = Journal(self._path.with_suffix(".open"), report)
        with contextlib.suppress(OSError):  # without it, a crash is reported all the same, but not what it was
            self._crash = open(self._path.with_suffix(".crash"), "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
            faulthandler.enable(self._crash)

    @property
    def trace(self) -> Path:
        """Where the session is recorded."""
        return self._path.with_suffix(".trace")

    def write(self, report: ProcessReport) -> None:
        """Write the report in its place. Whatever cannot be written is left out, and said to be. AdrenoSimError if the folder
        takes no file."""
        try:
            write_json(self._path.with_suffix(".json"), process_to_json(report))
        except AdrenoSimError:
            raise
        except Exception as error:  # a bug of ours must not lose what was found
            write_json(self._path.with_suffix(".json"), process_to_json(reduce_report(report, error)))
        for ending in (".open", ".crash"):
            with contextlib.suppress(OSError):  # who collects reports looks for the other one first
                self._path.with_suffix(ending).unlink()


def reduce_report(report: ProcessReport, error: Exception) -> ProcessReport:
    """The least that is shown for a session whose report cannot be written: each finding by its kind and place alone."""
    why = f"internal error: {type(error).__name__} while the report was written, which has the findings' kinds alone (a bug)"
    findings = [
        Finding(found.kind, str(found.message), str(found.kernel), line=int(found.line), count=int(found.count))
        for found in report.findings
    ]
    failed = "; ".join(filter(None, (report.failed, why)))
    return ProcessReport(
        str(report.program), int(report.pid), str(report.device), str(report.checks), findings, failed=failed, opened=True
    )


def has_reports(folder: Path) -> bool:
    """Whether a server has started."""
    return any(folder.glob("process-*"))


def collect_reports(folder: Path, device: str, seconds: float) -> list[ProcessReport]:
    """The reports of all servers, in the order of their clients' numbers. Waits at most `seconds` for those that still run; one
    that still does, or has died, has a report that says so, with what it had found."""
    end, pause = time.monotonic() + seconds, _FIRST_LOOK
    while time.monotonic() < end and any(_is_alive(path) for path in folder.glob("process-*.open")):
        time.sleep(pause)
        pause = min(2 * pause, _LOOK)
    reports = [_lost_report(path, device) for path in folder.glob("process-*.open") if not path.with_suffix(".json").exists()]
    return sorted([*reports, *map(_read, folder.glob("process-*.json"))], key=lambda report: report.pid)


def find_recordings(folder: Path) -> list[tuple[int, Path]]:
    """Number of the client and file of each recorded session, in the order of `collect_reports`."""
    return sorted((int(path.stem.split("-")[1]), path) for path in folder.glob("process-*.trace"))


def _read(path: Path) -> ProcessReport:
    return process_from_json(json.loads(path.read_text(encoding="utf-8")))


def _lost_report(path: Path, device: str) -> ProcessReport:
    report = read_journal(path, int(path.stem.split("-")[1]), device)
    alive = "it still runs: what it finds from now on is not here"
    why = alive if _is_alive(path) else f"its server died{_crash(path)}: what it had found is here, and not what was to come"
    report.failed = "; ".join(filter(None, (report.failed, why)))
    return report


def _crash(path: Path) -> str:
    """How a server crashed, in brackets; nothing where that is not known."""
    try:
        first = path.with_suffix(".crash").read_text(encoding="utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return ""
    return f" ({first.removeprefix('Fatal Python error: ')})" if first else ""


def _is_alive(path: Path) -> bool:
    """Whether the server of a file still runs."""
    server = int(path.stem.split("-")[2])
    try:
        state = Path(f"/proc/{server}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"
