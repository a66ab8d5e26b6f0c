"""An allow-list for what a run found: text that `allow.read_file` reads."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

from ...base.allow import Allowed, AllowEntry
from ...base.errors import AdrenoSimError
from ...base.launch_folder import toml_value
from ...base.text.spelling import spell_line
from ...findings import Finding, Severity

DAYS = 90
"""That entries hold."""

_HEAD = """\
# What adreno-sim found, accepted until the day of each entry. Say in each reason why it is acceptable, and take out what is not.
"""


def list_entries(findings: Iterable[Finding], allowed: Iterable[Allowed] = (), today: datetime.date | None = None) -> str:
    """The text of a list that accepts these findings, except for notes, from `today` (default: today, UTC) on, and keeps the
    entries that accepted others.
    """
    day = today or datetime.datetime.now(datetime.timezone.utc).date()
    kept = {one.entry.where: one.entry for one in allowed}.values()
    found = [_entry_of(finding, day) for finding in findings if finding.severity > Severity.NOTE]
    texts = dict.fromkeys(map(_text_of, [*kept, *found]))
    return "\n".join([_HEAD, *texts])


def _entry_of(finding: Finding, day: datetime.date) -> AllowEntry:
    reason = f"found on {day}, not reviewed: {finding.message}"
    expires = day + datetime.timedelta(days=DAYS)
    entries = (
        AllowEntry(_literal(finding.kernel), finding.kind.label, place, reason, expires, "") for place in _places(finding)
    )  # fmt: skip
    return next(entry for entry in entries if entry.accepts(finding))


def _places(finding: Finding) -> Iterator[str]:
    """Names of the finding's place, the closest first; the last is anywhere."""
    if finding.line and finding.column:
        for file in (f"{finding.file}:", "") if finding.file and _is_writable(finding.file) else ("",):
            yield f"{file}{finding.line}:{finding.column}"
    if finding.line:
        yield str(finding.line)
    yield ""


def _is_writable(text: str) -> bool:
    try:
        toml_value(text)
    except AdrenoSimError:
        return False
    return True


def _literal(name: str) -> str:
    """A pattern for this name: signs of patterns in brackets, and any character for one that a file cannot hold."""
    return "".join(
        "?" if "\ud800" <= char <= "\udfff" else f"[{char}]" if char in "*?[" else char for char in name
    )  # fmt: skip


def _text_of(entry: AllowEntry) -> str:
    rows = {"kernel": entry.kernel, "kind": entry.kind, "place": entry.place, "reason": spell_line(entry.reason)[:300]}
    lines = [f"{key} = {toml_value(value)}" for key, value in rows.items() if value or key == "kernel"]
    return "\n".join(["[[allow]]", *lines, f"expires = {entry.expires}", ""])
