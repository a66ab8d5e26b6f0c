"""What predicted times are compared with: a limit, and the times of an earlier run."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from ..base.bounded_read import DATA_LIMIT, read_bytes
from ..base.errors import AdrenoSimError
from ..findings import Finding, Kind
from ..records import dataclass
from ..timing.machines import SPREAD
from .time_report import SCHEMA, TimeReport

NOISE = SPREAD["measured"]
"""How much longer a time must be than an earlier one before it says anything. Both are of one model and one device, so that the
error of the device's rates is the same in both; what is left is the model's own."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ns|us|ms|s)")


@dataclass(frozen=True)
class TimeWish:
    """What is asked about time. most: seconds that it may take. baseline: a file of an earlier run."""

    most: float | None = None
    baseline: str | os.PathLike[str] | None = None


NO_WISH = TimeWish()


def parse_duration(text: str) -> float:
    """Returns "15ms" in seconds. ValueError if it is none."""
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not seconds:
        raise ValueError(f"{text!r}: expected a time above 0 with its unit, as 15ms, 200us or 1.5s")
    return seconds


def show_duration(seconds: float) -> str:
    """Returns a time with its unit: three digits."""
    unit = next((unit for unit, size in _UNITS.items() if seconds >= size), "ns")
    return f"{seconds / _UNITS[unit]:.3g} {unit}"


def find_beyond(report: TimeReport, wish: TimeWish) -> list[Finding]:
    """Returns what is wrong with the times: too long, longer than before, or spent in slow functions. Notes in the report what
    they were before. Raises AdrenoSimError for a baseline that is none."""
    return [*_find_too_long(report, wish.most), *_find_slower(report, wish.baseline), *_find_slow_calls(report)]


def find_unjudged(report: TimeReport, wish: TimeWish) -> list[str]:
    """Returns what a limit says nothing about, in words: what has no time."""
    if wish.most is None or not report.missing:
        return []
    return [f"the limit of {show_duration(wish.most)}, for {len(report.missing)} without a predicted time"]


def _find_slow_calls(report: TimeReport) -> Iterator[Finding]:
    for kernel, calls in report.slow_calls.items():
        for call in calls:
            said = f"{call.name}() takes {call.times} times as long as a multiply-add ({call.source}); cheaper: {call.instead}"
            yield Finding(Kind.SLOW_BUILTIN, said, kernel=kernel, line=call.line, column=call.column)


def _find_too_long(report: TimeReport, most: float | None) -> Iterator[Finding]:
    if most is not None and report.low > most:
        what = f"predicted to take {show_duration(report.low)} to {show_duration(report.high)} ({report.error})"
        yield Finding(
            Kind.TOO_SLOW, f"{what}, which is more than {show_duration(most)}", detail={"limit": most, "low": report.low}
        )


def _find_slower(report: TimeReport, baseline: str | os.PathLike[str] | None) -> Iterator[Finding]:
    if baseline is None:
        return
    before, whole = read_baseline(baseline, report.device)
    report.before = whole
    for row in report.rows:
        row.before = before.get(row.name)
        yield from _compare(row.name, row.seconds, row.before)
    yield from _compare("", report.seconds, whole)


def _compare(kernel: str, now: float, before: float | None) -> Iterator[Finding]:
    if before is not None and now > NOISE * before:
        what = "predicted to take" if kernel else "all kernels: predicted to take"
        message = f"{what} {show_duration(now)}, {now / before:.2f} times the {show_duration(before)} of the baseline"
        yield Finding(Kind.SLOWER, message, kernel=kernel, detail={"before": before, "now": now})


def read_baseline(file: str | os.PathLike[str], device: str) -> tuple[dict[str, float], float]:
    """Returns the seconds of each kernel in a file of an earlier run, and their sum. Raises AdrenoSimError for a file that has
    none, and for times of another device."""
    try:
        data: Any = json.loads(read_bytes(Path(file), DATA_LIMIT))
    except OSError as error:
        raise AdrenoSimError(f"compare: {file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise AdrenoSimError(f"compare: {file}: not JSON: expected what --time --json wrote") from None
    times = data.get("time", data) if isinstance(data, dict) else None
    if not isinstance(times, dict) or times.get("schema") != SCHEMA:
        raise AdrenoSimError(f"compare: {file}: holds no predicted times ({SCHEMA}): expected what --time --json wrote")
    if times.get("device") != device:
        raise AdrenoSimError(
            f"compare: {file}: of {times.get('device')}, and these times are of {device}: compare runs on one device"
        )
    rows, whole = times.get("kernels"), times.get("seconds")
    found: dict[str, float] = {}
    for row in rows if isinstance(rows, list) else [None]:
        name, seconds = (row.get("name"), row.get("seconds")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not _is_time(seconds):
            break
        found[name] = float(seconds)
    if not isinstance(rows, list) or len(found) != len(rows) or not _is_time(whole):
        raise AdrenoSimError(f"compare: {file}: kernels without a name or a time: expected what --time --json wrote")
    return found, float(whole)


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
