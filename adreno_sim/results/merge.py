"""Findings of many launches, each defect once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..findings import Finding


class FindingList:
    """Findings in order of first sight. Those of one kind at one place of one kernel are one, their counts added."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[object, ...], Finding] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            known = self._by_key.get(finding_key(finding))
            self._by_key[finding_key(finding)] = finding if known is None else replace(known, count=known.count + finding.count)

    def as_list(self) -> list[Finding]:
        return list(self._by_key.values())


def finding_key(finding: Finding) -> tuple[object, ...]:
    """The key under which two findings are one defect: kind, file, kernel, view and source location, else the message."""
    where = (finding.line, finding.column) if finding.line else finding.message
    view = finding.access.view if finding.access else ""
    return finding.kind, finding.file, finding.kernel, where, view
