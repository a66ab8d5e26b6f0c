"""One case in a separate process: a driver's crash, a hang or a lack of memory ends only that."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ..base.processes import isolation
from ..base.processes.scratch import scratch_folder
from ..findings import Kind
from .case import Case, Outcome, Result
from .outcome import STATUS, outcome_of

LOG_CHARACTERS = 20_000
"""Characters of a case's output that are recorded, from its end."""


def run_case(case: Case, limit: float, content: bytes | None = None, among: isolation.Processes | None = None) -> Result:
    """Check a case within `limit` seconds. content: the model, where its path means nothing on this machine. among: as
    `isolation.run`."""
    with scratch_folder("sweep") as folder:
        path = Path(case.path)
        if content is not None:
            path = folder / path.name
            path.write_bytes(content)
        report, log = folder / "report.json", folder / "log"
        begun = time.perf_counter()
        with log.open("wb") as stream:
            ended = isolation.run(case.arguments(str(path), str(report)), limit, stream, among)
        seconds = round(time.perf_counter() - begun, 3)
        text = log.read_text(encoding="utf-8", errors="surrogateescape")[-LOG_CHARACTERS:]
        data = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        data = None if data is not None and data.get("schema") == FAILURE else data
    if ended.finding is not None:
        status = "hung" if ended.finding.kind is Kind.DEVICE_HUNG else "crashed"
        return Result(Outcome(status, ended.code, ended.finding.message, seconds), None, text)
    if ended.problem:
        status = {3: "unsupported", 4: "internal-error"}.get(ended.code, "crashed")
        return Result(Outcome(status, ended.code, ended.problem, seconds), None, text)
    if data is None:
        return Result(_outcome_without_report(ended.code, text, seconds), None, text)
    return Result(outcome_of(data, seconds), data, text)


FAILURE = "adreno-sim/failure/1"
"""The schema of the record that replaces a report if there is none."""


def _outcome_without_report(code: int, log: str, seconds: float) -> Outcome:
    """What an exit code means where no report was written. A check that comes to a verdict writes one: any other code is that of
    an interrupt, or of code of the model that ended the process."""
    status = {2: STATUS[2], 3: STATUS[3], 4: "internal-error"}.get(code)
    if status is not None:
        return Outcome(status, code, _complaint(log), seconds)
    return Outcome("crashed", 2, f"ended with exit code {code} and without a report: {_complaint(log)}", seconds)


def _complaint(log: str) -> str:
    """The line that says why there is no report."""
    lines = log.strip().splitlines()
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return said[-1] if said else (lines[-1] if lines else "ended without a word")
