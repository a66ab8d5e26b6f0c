"""Findings that are known and accepted: allow-list entries from pyproject.toml, adreno-sim.toml or a launch file.

    [[tool.adreno-sim.allow]]           # in pyproject.toml; [[allow]] in adreno-sim.toml and in a launch file
    kernel = "histogram_*"              # name, * and ? as in file names
    kind = "data-race"
    place = "histogram.cl:12"           # as a report gives it, from the right: [FILE:]LINE[:COLUMN]; leave out: anywhere
    reason = "the bins are only an estimate"
    expires = 2027-06-30                # the last day it holds

What an entry accepts is still listed in every report; an entry past its day accepts nothing and is reported.
"""

from __future__ import annotations

import datetime
import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path

from ..findings import Finding, Kind
from ..records import dataclass
from .toml_tables import MISSING, Table, load_toml

_DATE = "the last day it holds, as 2027-06-30"
KINDS = tuple(kind.label for kind in Kind)

_PLACE = re.compile(r"(?:(?P<file>.*?[^\d:][^:]*):)?(?P<line>\d+)(?::(?P<column>\d+))?")


@dataclass(frozen=True)
class AllowEntry:
    """Accepts findings of `kind` in kernels matching `kernel` at `place` ("" anywhere) up to the day `expires`.

    `where` names the entry: its file and number.
    """

    kernel: str
    kind: str
    place: str
    reason: str
    expires: datetime.date
    where: str

    def accepts(self, finding: Finding) -> bool:
        """Whether the entry is about this finding, whatever the day."""
        same = self.kind == finding.kind.label and fnmatch.fnmatchcase(finding.kernel, self.kernel)
        return same and self._is_at(finding)

    def _is_at(self, finding: Finding) -> bool:
        place = _PLACE.fullmatch(self.place)
        if place is None:
            return not self.place
        file, line, column = place.group("file", "line", "column")
        return (
            finding.line == int(line)
            and (column is None or finding.column == int(column))
            and (file is None or f"/{finding.file}".endswith(f"/{file}"))
        )


@dataclass(frozen=True)
class Allowed:
    """A finding that an entry accepted."""

    finding: Finding
    entry: AllowEntry


@dataclass
class AllowResult:
    """kept: findings that count. allowed: accepted findings, each with its entry. expired: entries past their day that match."""

    kept: list[Finding] = field(default_factory=list)
    allowed: list[Allowed] = field(default_factory=list)
    expired: list[AllowEntry] = field(default_factory=list)


def apply(entries: Sequence[AllowEntry], findings: Iterable[Finding], today: datetime.date | None = None) -> AllowResult:
    """Split `findings` into those that `entries` accept on the day `today` (default: today, UTC) and the rest."""
    day = today or datetime.datetime.now(datetime.timezone.utc).date()
    result = AllowResult()
    for finding in findings:
        matching = [entry for entry in entries if entry.accepts(finding)]
        valid = next((entry for entry in matching if day <= entry.expires), None)
        if valid is not None:
            result.allowed.append(Allowed(finding, valid))
            continue
        result.kept.append(finding)
        result.expired += [entry for entry in matching if entry not in result.expired]
    return result


def describe_expired(entry: AllowEntry) -> str:
    """One sentence on an entry that no longer accepts what it was made for."""
    return f"{entry.where}: expired on {entry.expires}: {entry.kind} in {entry.kernel} counts again ({entry.reason})"


def find_config(start: Path) -> list[AllowEntry]:
    """Entries of the nearest adreno-sim.toml, or pyproject.toml with [tool.adreno-sim], in `start` or a folder above it."""
    for folder in (start, *start.parents):
        own = folder / "adreno-sim.toml"
        if own.is_file():
            return read_entries(Table(load_toml(own), own))
        project = folder / "pyproject.toml"
        if project.is_file():
            tool = Table(load_toml(project), project).table("tool")
            if "adreno-sim" in tool:
                return read_entries(tool.table("adreno-sim"))
    return []


def read_file(path: Path) -> list[AllowEntry]:
    """Entries of an allow-list, or of the [tool.adreno-sim] of a pyproject.toml. AdrenoSimError if it cannot be read."""
    table = Table(load_toml(path), path)
    return read_entries(table.table("tool").table("adreno-sim") if path.name == "pyproject.toml" else table)


def read_entries(table: Table) -> list[AllowEntry]:
    """The [[allow]] entries of `table`. Raises AdrenoSimError naming what is wrong in an entry."""
    return [_entry(entry) for entry in table.tables("allow")]


def _entry(table: Table) -> AllowEntry:
    place = table.text("place", "")
    if place and not _PLACE.fullmatch(place):
        table.fail_expected("place", '[FILE:]LINE[:COLUMN], as "conv.cl:12"')
    expires = table.get("expires", MISSING, _DATE)
    if not isinstance(expires, datetime.date) or isinstance(expires, datetime.datetime):
        table.fail_expected("expires", _DATE)
    reason = table.text("reason")
    if not reason.strip():
        table.fail_expected("reason", "why it is accepted")
    entry = AllowEntry(
        table.text("kernel"), table.text("kind", choices=KINDS), place, reason, expires, f"{table.file}: {table.name}"
    )
    table.finish()
    return entry
