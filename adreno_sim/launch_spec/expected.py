"""Findings a launch is expected to have, and how they compare with those it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields

from ..base.toml_tables import Table
from ..findings import Finding, Kind
from ..records import dataclass

KINDS = tuple(kind.label for kind in Kind)


@dataclass(frozen=True)
class ExpectedFinding:
    """What is said of one finding; None = anything.

    argument: the view it is about. work_item: the global id. code: OpenCL's, of a refused call. message: part of the text.
    """

    kind: str
    line: int | None = None
    column: int | None = None
    argument: str | None = None
    offset: int | None = None
    coordinate: tuple[int, ...] | None = None
    work_item: tuple[int, ...] | None = None
    count: int | None = None
    code: str | None = None
    message: str | None = None

    def matches(self, finding: Finding) -> bool:
        told = _finding_fields(finding)
        return all(_agrees(f.name, getattr(self, f.name), told[f.name]) for f in fields(self))

    def __str__(self) -> str:
        said = [f"{f.name} {getattr(self, f.name)}" for f in fields(self)[1:] if getattr(self, f.name) is not None]
        return f"{self.kind} ({', '.join(said)})" if said else self.kind


@dataclass(frozen=True)
class Matching:
    """Findings that were expected, those that were not, and expectations nothing met."""

    expected: list[Finding] = field(default_factory=list)
    unexpected: list[Finding] = field(default_factory=list)
    missing: list[ExpectedFinding] = field(default_factory=list)


def match(wanted: Sequence[ExpectedFinding], findings: Sequence[Finding]) -> Matching:
    """Pair each expectation with a separate finding, as many as can be."""
    taken: dict[int, int] = {}  # finding -> expectation

    def find(number: int, tried: set[int]) -> bool:
        for index, finding in enumerate(findings):
            if index in tried or not wanted[number].matches(finding):
                continue
            tried.add(index)
            if index not in taken or find(taken[index], tried):
                taken[index] = number
                return True
        return False

    missing = [expectation for number, expectation in enumerate(wanted) if not find(number, set())]
    return Matching(
        [finding for index, finding in enumerate(findings) if index in taken],
        [finding for index, finding in enumerate(findings) if index not in taken],
        missing,
    )


def read_expected(table: Table) -> ExpectedFinding:
    """One [[finding]] table. Raises AdrenoSimError naming what is wrong."""
    found = ExpectedFinding(
        kind=table.text("kind", choices=KINDS),
        line=table.whole("line", None),
        column=table.whole("column", None),
        argument=table.text("argument", None),
        offset=_read_integer(table, "offset"),
        coordinate=_list(table, "coordinate"),
        work_item=_list(table, "work_item"),
        count=table.whole("count", None, least=1),
        code=table.text("code", None),
        message=table.text("message", None),
    )
    table.finish()
    return found


def _read_integer(table: Table, key: str) -> int | None:
    value: int | None = table.whole(key, None, least=-(1 << 63))
    return value


def _list(table: Table, key: str) -> tuple[int, ...] | None:
    value: tuple[int, ...] | None = table.wholes(key, None, least=-(1 << 31))
    return value


def _finding_fields(finding: Finding) -> dict[str, object]:
    """The fields of a finding under the names of ExpectedFinding."""
    access, item = finding.access, finding.work_item
    return {
        "kind": finding.kind.label,
        "line": finding.line,
        "column": finding.column,
        "argument": access.view if access else None,
        "offset": access.offset if access else None,
        "coordinate": access.coordinate if access else None,
        "work_item": item.global_id if item else None,
        "count": finding.count,
        "code": finding.detail.get("code"),
        "message": finding.message,
    }


def _agrees(name: str, wanted: object, told: object) -> bool:
    if wanted is None:
        return True
    if name == "message":
        return str(wanted) in str(told)
    if isinstance(wanted, tuple) and isinstance(told, tuple):
        return wanted == told[: len(wanted)] and not any(told[len(wanted) :])
    return wanted == told
