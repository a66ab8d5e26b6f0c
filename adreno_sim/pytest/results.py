"""What checks leave behind: properties of the test in junit XML, attachments of failures, the summary on the terminal.

Properties travel with pytest's reports, so the summary is complete under xdist too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records import dataclass

if TYPE_CHECKING:
    from ..results.model import Report

PREFIX = "adreno."


def properties(device: str, report: Report) -> list[tuple[str, object]]:
    """(name, value) of one check, for junit XML."""
    worst = max((kernel.max_ulp for kernel in report.kernels), default=0)
    values: dict[str, object] = {
        "device": device,
        "model": report.model,
        "target": report.target,
        "pipeline": report.pipeline,
        "verdict": report.verdict,
        "kernels": report.kernels_in_model,
        "kernels-checked": report.checked,
        "findings": sum(finding.severity > 0 for finding in report.findings),
        "max-ulp": worst,
        "seconds": round(sum(report.timings.values()), 3),
    }
    if report.plan is not None:
        values |= {"plan-bytes": report.plan.planned, "plan-right-bytes": report.plan.right}
    return [(PREFIX + name, value) for name, value in values.items()]


def failure_text(folder: Path, text: str) -> str:
    """A failure's text with the path of its attachments."""
    return f"{text}\nattached: {folder} ({', '.join(sorted(item.name for item in folder.iterdir()))})"


def attach(folder: Path, test: str, report: Report) -> Path:
    """Write what helps to understand the failed check of `test` to a separate folder below `folder`, which it returns.

    What an earlier run left there goes away.
    """
    from ..base.json_io import write_json
    from ..base.output_file import write_text
    from ..render.report.html import write_html
    from ..results.encode import report_to_json

    place = folder / safe_name(test)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    write_json(place / "report.json", report_to_json(report))
    write_text(place / "report.txt", str(report) + "\n")
    write_html(place / "report.html", report)
    return place


def safe_name(test: str) -> str:
    """A test's id as a file name."""
    return re.sub(r"[^\w.=-]+", "_", test).strip("_")


@dataclass
class Tally:
    """Figures of one device over a test run."""

    checks: int = 0
    kernels: int = 0
    checked: int = 0
    findings: int = 0
    tests: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)


class Summary:
    """Collects reports of tests; `lines` says what devices ran and what they could not do."""

    def __init__(self) -> None:
        self.devices: dict[str, Tally] = {}

    def add(self, report: Any) -> None:
        """Take in one of pytest's test reports: those of calls, and of setups that did not pass."""
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return
        values = [(name.removeprefix(PREFIX), value) for name, value in report.user_properties if name.startswith(PREFIX)]
        devices = dict.fromkeys(str(value) for name, value in values if name == "device")
        for device in devices:
            tally = self.devices.setdefault(device, Tally())
            tally.tests += 1
            tally.failed += bool(report.failed)
            if report.skipped:
                tally.skipped.append(_skip_reason(report))
        self._add_figures(values)

    def _add_figures(self, values: Iterable[tuple[str, object]]) -> None:
        tally = Tally()
        for name, value in values:
            if name == "device":
                tally = self.devices[str(value)]
            elif name == "verdict":
                tally.checks += 1
            elif name in ("kernels", "kernels-checked", "findings"):
                key = {"kernels-checked": "checked"}.get(name, name)
                setattr(tally, key, getattr(tally, key) + int(str(value)))
            elif name == "lacks" and str(value) not in tally.lacks:
                tally.lacks.append(str(value))

    def lines(self) -> list[str]:
        """Per device: tests, checks, kernels, findings; what it lacks; why tests were skipped."""
        out = []
        for device, tally in sorted(self.devices.items()):
            parts = [f"{tally.tests} tests", f"{tally.failed} failed", f"{len(tally.skipped)} skipped"]
            if tally.checks:
                parts.append(f"{tally.checks} checks, {tally.checked} of {tally.kernels} kernels, {tally.findings} findings")
            out.append(f"{device}: {', '.join(parts)}")
            out += [f"  {sentence}" for sentence in tally.lacks]
            out += [f"  skipped {tally.skipped.count(reason)}: {reason}" for reason in dict.fromkeys(tally.skipped)]
        return out


def _skip_reason(report: Any) -> str:
    place = report.longrepr
    reason = str(place[2]) if isinstance(place, tuple) else str(place)
    return reason.removeprefix("Skipped: ").splitlines()[0]
