"""Which findings of many are shown whole as they arise, and the others in a few lines at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from ...findings import Finding, Severity, place_of
from ...records import dataclass

MOST_ALIKE = 3
"""The most findings of one kind, equal except for numbers, that are shown whole."""
MOST_WHOLE = 40
"""Findings that are shown whole."""
MOST_LINES = 20
"""Lines about the others."""
_NAMED = 3
"""Kernels that such a line names."""


@dataclass
class _Alike:
    """Findings alike: how many are shown, the first that is not, and the kernels of all that are not."""

    shown: int = 0
    first: Finding | None = None
    count: int = 0
    kernels: dict[str, None] = field(default_factory=dict)


class ShownFindings:
    """Notified of each finding of a session that is in its report for the first time."""

    def __init__(self) -> None:
        self._lines: set[tuple[object, ...]] = set()
        self._groups: dict[tuple[object, ...], _Alike] = {}
        self._whole = 0

    def is_new(self, finding: Finding) -> bool:
        """Whether anything is to be shown of a finding: not of a note, nor at a line that had one."""
        line = place_of(finding)[:4]
        if finding.severity is Severity.NOTE or line in self._lines:
            return False
        self._lines.add(line)
        return True

    def takes(self, finding: Finding) -> bool:
        """Whether a new finding is to be shown now. Else it counts for `rest`."""
        group = self._groups.setdefault((finding.kind, re.sub(r"\d+", "#", finding.message)), _Alike())
        if group.shown < MOST_ALIKE and self._whole < MOST_WHOLE:
            group.shown += 1
            self._whole += 1
            return True
        group.first = group.first or finding
        group.count += 1
        group.kernels.setdefault(finding.kernel)
        return False

    def rest(self) -> Iterator[str]:
        """Lines about what was not shown, once."""
        hidden = [group for group in self._groups.values() if group.count]
        for group in hidden[:MOST_LINES]:
            yield _line(group)
        if more := sum(group.count for group in hidden[MOST_LINES:]):
            yield f"{more} more findings with other words"
        if hidden:
            yield "the report has all findings (--json, --html, --sarif)"
        self._groups.clear()


def _line(group: _Alike) -> str:
    first = group.first
    assert first is not None
    names = [name for name in group.kernels if name]
    others = len(names) - _NAMED
    named = ", ".join(names[:_NAMED]) + (f" and {others} other{'' if others == 1 else 's'}" if others > 0 else "")
    of = f" in {named}" if names else ""
    like = f"{group.count} more like those above" if group.shown else f"{group.count}"
    return f"{first.severity}: {first.kind.label}: {like}{of}: {first.message}"
