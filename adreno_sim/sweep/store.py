"""The folder of a sweep: a file for each case that is done, so that a sweep that was killed goes on where it was."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base.bounded_read import read_json
from ..base.errors import AdrenoSimError
from ..base.json_io import write_json
from ..base.output_file import write_text
from ..base.trust.plain_files import require_plain_files
from .case import AGAIN, Case, Outcome, Result
from .outcome import REPORTED, outcome_of, read_outcome

ENDINGS = (".case.json", ".report.json", ".log")


class ResultStore:
    """KEY.case.json is what became of a case, written last; KEY.report.json its report, KEY.log what it printed."""

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AdrenoSimError(f"folder of results {folder}: {error.strerror or error}") from error
        require_plain_files(file for ending in ENDINGS for file in sorted(folder.glob(f"*{ending}")))

    def get(self, case: Case, retry: bool = False) -> Result | None:
        """What became of a case in an earlier run; None if it has to run, also where what is there is damaged. retry: also
        where its process broke down."""
        try:
            outcome = read_outcome(read_json(self.folder / f"{case.key}.case.json"))
            report = self._report(case, outcome)
        except (OSError, ValueError):
            return None
        return None if retry and outcome.status in AGAIN else Result(outcome, report, resumed=True)

    def _report(self, case: Case, outcome: Outcome) -> dict[str, Any] | None:
        """The report of a case; None if it has none. Raises OSError and ValueError, also where the outcome is not that of the
        report."""
        path = self.folder / f"{case.key}.report.json"
        data: dict[str, Any] | None = read_json(path) if path.exists() else None
        if data is not None and outcome_of(data, outcome.seconds) != outcome:
            raise ValueError("another outcome than its report has")
        if data is None and (outcome.status in REPORTED or outcome.kernels):
            raise ValueError("its report is missing")
        return data

    def put(self, case: Case, result: Result) -> None:
        """Store the result of a case. Each file appears complete or not at all."""
        write_text(self.folder / f"{case.key}.log", result.log)
        report = self.folder / f"{case.key}.report.json"
        if result.report is not None:
            write_json(report, result.report)
        else:
            report.unlink(missing_ok=True)
        write_json(self.folder / f"{case.key}.case.json", asdict(result.outcome))
