"""Diagnostic sites: the numbered program points that can report a finding. `runtime/diagnostics.c` reports."""

from __future__ import annotations

from ...findings import Kind, Note
from ...ir import ir
from ...records import dataclass


@dataclass(frozen=True)
class DiagnosticSite:
    """One check in the source.

    `shape` says what the reported values are:

    "offset": byte offset, object length, object address. `size` is the size of the access, `view` the object if known.
    "coordinate": x, y, layer, width, height, layers (`dimensions` of each three count). `view` is the image.
    "index": the index. "line": nothing.
    "inside": nothing; it is not a finding, but a read of the tensor in the argument `view`.
    "split": the synchronisation points that two work-items of a group reached. `size` is the number of this one.

    statement: if statements that share a place (a macro, one line) are distinguished, the number of the instruction.
    target: the argument to which an undefined value is stored, ANY_ARGUMENT if only the run knows; None of other sites. It is a
    finding if the value is still there when somebody looks.
    variable: what nothing was assigned to, as the source names it. notes: other places that a finding names.
    """

    kind: Kind
    loc: ir.SourceLoc
    shape: str = "line"
    view: str = ""
    size: int = 0
    dimensions: int = 0
    text: str = ""
    statement: int = 0
    target: int | None = None
    variable: str = ""
    notes: tuple[Note, ...] = ()


ANY_ARGUMENT = -1

IMMEDIATE_KINDS = (Kind.WATCHDOG, Kind.DIVERGENT_BARRIER)
"""Kinds that code with deferred checks still reports at once: they end the group, and no access causes them."""

BENIGN_KINDS = (Kind.CLAMPED_READ,)
"""Kinds of defined behaviour, which every launch may have. Code with deferred checks counts them (`emit.event_counters`)."""


class DiagnosticSiteTable:
    """Numbers the sites of a module. Equal sites share one number."""

    def __init__(self) -> None:
        self.sites: list[DiagnosticSite] = []
        self._number: dict[DiagnosticSite, int] = {}

    def add(self, site: DiagnosticSite) -> int:
        number = self._number.get(site)
        if number is None:
            number = self._number[site] = len(self.sites)
            self.sites.append(site)
        return number
