"""What a session has found so far, in a file that grows by a line for each thing: it outlives a server that crashes or is killed.

A line is JSON: the name of a field of `ProcessReport`, and what is new in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base.errors import AdrenoSimError
from ..base.json_io import plain_json, write_text
from ..findings import Finding
from ..results.run_encode import process_from_json, process_to_json
from ..results.run_report import ProcessReport
from ..results.verdict.finding_json import finding_to_json

_PERIOD = 1.0
"""Seconds between two lines of counts."""
_COUNTS = "counts"
"""The field of how often each finding has come."""
CHANGED = "changed"
"""The field of a finding in another one's place."""


class Journal:
    """The file at `path`, about `report`. AdrenoSimError if none can be written; later, what cannot be written
    is written with what comes next."""

    def __init__(self, path: Path, report: ProcessReport):
        self._report = report
        self._next = 0.0
        self._unwritten = b""
        write_text(path, "")
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise AdrenoSimError(f"cannot write {path}: {error.strerror}") from None
        for name in ("program", "checks"):
            self.add(name, getattr(report, name))

    def add(self, field: str, value: Any) -> None:
        """Something new: an item of a list, a dictionary's new items, or the value of another field."""
        self._write((field, value))

    def add_finding(self, finding: Finding) -> None:
        """A finding, and how often its kernel was launched until then."""
        known = self._report.kernels.get(finding.kernel)
        launched = [("kernels", {finding.kernel: asdict(known)})] if known else []
        self._write(("findings", finding_to_json(finding)), *launched)

    def count(self) -> None:
        """Launches or findings have become more."""
        if time.monotonic() >= self._next and not self._unwritten:
            self._next = time.monotonic() + _PERIOD
            launched = {name: asdict(count) for name, count in self._report.kernels.items()}
            counts = [(name, getattr(self._report, name)) for name in ("checked_launches", "left_out")]
            self._write(("kernels", launched), *counts, (_COUNTS, [found.count for found in self._report.findings]))

    def _write(self, *lines: tuple[str, Any]) -> None:
        with contextlib.suppress(TypeError, ValueError):  # a value that JSON does not have is a bug of ours: the launch goes on
            self._unwritten += "".join(json.dumps(plain_json(line)) + "\n" for line in lines).encode()
        with contextlib.suppress(OSError):  # a full disk may have room later
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(self._file, self._unwritten) :]


def read_journal(path: Path, pid: int, device: str) -> ProcessReport:
    """The report of a session as far as its journal goes; of none, where it says nothing."""
    data = process_to_json(ProcessReport("", pid, device, ""))
    counts: list[int] = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            field, value = json.loads(line)
        except ValueError:  # it was being written
            break
        if field == _COUNTS:
            counts = value
        elif field == CHANGED:
            data["findings"][value["place"]] = value["finding"]
        elif isinstance(data[field], list):
            data[field].append(value)
        elif isinstance(data[field], dict):
            data[field].update(value)
        else:
            data[field] = value
    for finding, count in zip(data["findings"], counts, strict=False):
        finding["count"] = count
    return process_from_json(data)
