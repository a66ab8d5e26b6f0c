"""Several launches that do the same, by predicted time: those that are right, the fastest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..results.launch_report import LaunchReport
from ..results.time_report import TimeReport


def rank_launches(launches: Sequence[tuple[str, LaunchReport]]) -> TimeReport | None:
    """Returns one report of the times of launches, each under the name that is given with it. A launch that is wrong, or has no
    time, is named as missing: it wins nothing. None if none got as far as to be timed."""
    first = next((report.time for _, report in launches if report.time is not None), None)
    if first is None:
        return None
    ranking = replace(first, kernels={}, missing=[])
    timed = []
    for name, report in launches:
        rows = [] if report.time is None else report.time.rows
        if report.exit_code or not rows:
            reason = (
                report.verdict
                if report.exit_code
                else "; ".join([*report.unchecked, *(report.time.missing if report.time else [])])
            )
            ranking.missing.append(f"{name}: {reason}")
        timed += [replace(row, name=name) for row in rows if not report.exit_code]
    ranking.kernels = {row.name: row for row in sorted(timed, key=lambda row: row.seconds)}
    return ranking
