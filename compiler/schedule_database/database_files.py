"""MetaSchedule's JSON database, checked before TVM reads it: TVM ends the process at some damage, as at a workload that is not
there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...base.bounded_read import parse_json, read_text
from ...base.errors import AdrenoSimError

LIMIT = 1 << 30
"""Bytes of either file."""


def require_database(workloads: Path, records: Path) -> None:
    """Raise AdrenoSimError if a line of the two files is none of the database's. A file that is missing holds none."""
    count = 0
    for place, value in _lines(workloads):
        if not (isinstance(value, list) and len(value) == 2 and all(isinstance(text, str) for text in value)):
            raise AdrenoSimError(f"{place}: damaged: expected the digest of a workload and its module")
        count += 1
    for place, value in _lines(records):
        if reason := _find_damage(value, count):
            raise AdrenoSimError(f"{place}: damaged: {reason}")


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    """The place and the value of each line."""
    if not file.exists():
        return
    try:
        texts = read_text(file, LIMIT).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise AdrenoSimError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for number, text in enumerate(texts, 1):
        if text or number < len(texts):
            try:
                yield f"{file}:{number}", parse_json(text)
            except ValueError as error:
                raise AdrenoSimError(f"{file}:{number}: damaged: {error}") from None


def _find_damage(record: Any, workloads: int) -> str:
    """Why a value is not a record: [number of a workload, [trace, seconds, target, arguments]]; "" if it is one."""
    if not isinstance(record, list) or len(record) != 2:
        return "expected the number of a workload and a record"
    number, body = record
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < workloads:
        return f"workload {str(number)[:40]}: expected one of {workloads}"
    if not isinstance(body, list) or len(body) != 4:
        return "expected a trace, seconds, a target and arguments"
    trace, seconds, target, arguments = body
    if not (isinstance(trace, list) and len(trace) == 2 and all(isinstance(part, list) for part in trace)):
        return "expected a trace of steps and decisions"
    if not (isinstance(seconds, list) and len(seconds) == 1 and isinstance(seconds[0], (int, float))):
        return "expected one number of seconds"
    if not isinstance(target, dict) or not isinstance(arguments, list):
        return "expected a target and a list of arguments"
    return _find_wrong_step(*trace)


def _find_wrong_step(steps: list[Any], decisions: list[Any]) -> str:
    """Why a trace is none: a step is [kind, inputs, attributes, outputs], a decision [number of a step, value]."""
    for step in steps:
        if not (isinstance(step, list) and len(step) == 4 and isinstance(step[0], str)):
            return "expected steps of a kind, inputs, attributes and outputs"
        if not all(isinstance(part, list) for part in step[1:]):
            return f"step {step[0][:40]}: expected lists of inputs, attributes and outputs"
    for decision in decisions:
        if not (isinstance(decision, list) and len(decision) == 2 and isinstance(decision[0], int)):
            return "expected decisions of a step"
        if not 0 <= decision[0] < len(steps):
            return f"a decision of step {decision[0]}: expected one of {len(steps)}"
    return ""
