"""Snapshots: the recorded findings and figures of a check, a small JSON file beside the tests that use it.

One file holds many snapshots by name. A test compares; with `update` it records instead, and says so. A snapshot that no
test asked for any more shows in `unused`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ..base.bounded_read import read_json
from ..base.errors import AdrenoSimError
from ..base.json_io import plain_json, write_json
from .model import Report

SCHEMA = "adreno-sim/snapshots/1"


def summarise(report: Report) -> dict[str, Any]:
    """What is worth keeping of a report: verdict word, kernels by status, findings by kind and kernel, plan bytes, digests.

    Times, messages and magnitudes of errors change for no reason and are left out.
    """
    statuses: dict[str, list[str]] = {}
    for kernel in report.kernels:
        statuses.setdefault(kernel.status, []).append(kernel.name)
    found = Counter(f"{finding.severity} {finding.kind.label} {finding.kernel}".strip() for finding in report.findings)
    plan = report.plan
    summary: dict[str, Any] = {
        "verdict": report.verdict.partition(":")[0],
        "kernels": {status: sorted(names) for status, names in sorted(statuses.items())},
        "findings": dict(sorted(found.items())),
        "plan": None if plan is None else [plan.planned, plan.right, plan.live_lower_bound],
        "digests": report.digests,
    }
    if report.stopped:
        summary["stopped"] = report.stopped.splitlines()[0]
    return summary


class SnapshotFile:
    """The snapshots in one file; missing = empty. With `update`, `matches` records and `save` writes what changed."""

    def __init__(self, path: Path, update: bool = False):
        self.path = path
        self.update = update
        self._stored = _read(path)
        self._asked: set[str] = set()
        self._changed = False

    def difference(self, name: str, value: Any) -> str:
        """What differs between `value` (JSON-ready) and the snapshot `name`: "" if nothing. With `update`: recorded, "" ."""
        value = plain_json(value)
        self._asked.add(name)
        if name in self._stored and self._stored[name] == value:
            return ""
        if self.update:
            self._stored[name] = value
            self._changed = True
            return ""
        if name not in self._stored:
            return f"{self.path.name} has no snapshot {name!r}: run once with updating on"
        return f"snapshot {name!r} in {self.path.name} differs:\n" + "\n".join(_differences(self._stored[name], value, name))

    def unused(self) -> list[str]:
        """Names of stored snapshots that no test has read."""
        return sorted(set(self._stored) - self._asked)

    def save(self) -> None:
        """With `update`: write the file if a snapshot changed."""
        if self.update and self._changed:
            write_json(self.path, {"schema": SCHEMA, "snapshots": dict(sorted(self._stored.items()))})
            self._changed = False


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        data = read_json(path)
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"{path}: not a snapshot file: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("snapshots"), dict):
        raise AdrenoSimError(f"{path}: expected a snapshot file of schema {SCHEMA!r}")
    snapshots: dict[str, Any] = data["snapshots"]
    return snapshots


def _differences(old: Any, new: Any, where: str) -> list[str]:
    """One line per place where two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = list(dict.fromkeys([*old, *new]))
        return [line for key in keys for line in _differences(old.get(key), new.get(key), f"{where}.{key}")]
    return [] if old == new else [f"  {where}: was {json.dumps(old)}, is {json.dumps(new)}"]
