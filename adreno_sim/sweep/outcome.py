"""What became of a case: as its report says, and as an earlier run wrote it down."""

from __future__ import annotations

from typing import Any, get_type_hints

from ..base.toml_tables import is_whole
from ..findings import Kind, Severity
from .case import AGAIN, Outcome

STATUS = {0: "ok", 1: "findings", 2: "failed", 3: "unsupported"}

REPORTED = (STATUS[0], STATUS[1])
"""Verdicts: a case has one only with a report."""

_PLAN = ("planned", "unplanned", "right", "live_lower_bound")
_TIME = ("seconds", "low", "high")
_KINDS, _SEVERITIES = {kind.label for kind in Kind}, {str(severity) for severity in Severity}
_TEXTS, _NUMBERS = ("kernel", "tensor"), ("line", "column")


def outcome_of(report: dict[str, Any], seconds: float) -> Outcome:
    """The outcome of a case with this report. Raises ValueError for what is none, as far as a sweep reads it."""
    try:
        return _outcome_of(report, seconds)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"no report of a check: {type(error).__name__} {error}") from error


def _outcome_of(report: dict[str, Any], seconds: float) -> Outcome:
    for finding in report["findings"]:
        _check_finding(finding)
    severities = [finding["severity"] for finding in report["findings"]]
    kernels, plan, times = report["kernels"], report["plan"], report.get("time")
    return _checked(
        Outcome(
            STATUS[report["exit_code"]],
            report["exit_code"],
            report["verdict"],
            seconds,
            kernels=report["kernels_in_model"],
            checked=sum(kernel["status"] in ("ok", "wrong", "part") for kernel in kernels),
            errors=severities.count("error"),
            warnings=severities.count("warning"),
            max_ulp=max((kernel["max_ulp"] for kernel in kernels), default=0),
            plan=plan and {name: plan[name] for name in _PLAN},
            time=times and {name: times[name] for name in _TIME},
        )
    )


def read_outcome(data: Any) -> Outcome:
    """The outcome in a file of an earlier run. Raises ValueError for what is none: the exit code is that of the status."""
    try:
        return _checked(Outcome(**data))
    except TypeError as error:
        raise ValueError(f"no outcome: {error}") from error


def _checked(found: Outcome) -> Outcome:
    """The outcome itself. Raises ValueError for a field of another type, and for an exit code that its status does not have."""
    for name, kind in get_type_hints(Outcome).items():
        value = getattr(found, name)
        if name == "plan":
            fits = value is None or (isinstance(value, dict) and set(value) == set(_PLAN) and all(map(_is_count, value.values())))
        elif name == "time":
            fits = value is None or (
                isinstance(value, dict) and set(value) == set(_TIME) and all(map(_is_number, value.values()))
            )
        elif kind is float:
            fits = _is_number(value)
        else:
            fits = isinstance(value, str) if kind is str else is_whole(value)
        if not fits:
            raise ValueError(f"{name}: {value!r}")
    if found.exit_code not in (
        (1, 2, 3, 4) if found.status in AGAIN else [code for code in STATUS if STATUS[code] == found.status]
    ):
        raise ValueError(f"{found.status} with exit code {found.exit_code}")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _check_finding(finding: dict[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError for anything but a finding of a report."""
    texts = [finding["message"], *(finding[name] for name in _TEXTS if name in finding)]
    numbers = [finding["count"], *(finding[name] for name in _NUMBERS if name in finding)]
    if finding["kind"] not in _KINDS or finding["severity"] not in _SEVERITIES:
        raise ValueError("no kind of finding")
    if not all(isinstance(text, str) for text in texts) or not all(map(_is_count, numbers)):
        raise ValueError("no finding")


def _is_count(value: object) -> bool:
    return is_whole(value) and 0 <= value < 1 << 63  # type: ignore[operator]
