"""A report in plain lines, without its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..base.allow import Allowed, AllowEntry, describe_expired
from ..base.text.spelling import spell_line, spell_printed
from ..findings import Severity, rank
from . import finding_text

if TYPE_CHECKING:
    from .model import Report


def plain(report: Report) -> str:
    """The report without its table: findings of the highest severity first, what was not checked, the verdict."""
    found = sorted(report.findings, key=rank)
    out = [line for finding in found for line in finding_text.lines(finding)]
    out += allow_lines(report.allowed, report.expired)
    out += [f"not checked: {sentence}" for sentence in report.unchecked]
    return _print([*out, report.verdict])


def allow_lines(allowed: Sequence[Allowed], expired: Sequence[AllowEntry]) -> list[str]:
    """What allow-list entries accepted, and entries that are past their day."""
    out = [
        f"allowed: {item.finding.severity}: {item.finding.kind.label} at {finding_text.location(item.finding)}: "
        f"{item.entry.reason} ({item.entry.where}, until {item.entry.expires})"
        for item in allowed
    ]
    out += [f"expired allow-list entry: {describe_expired(entry)}" for entry in expired]
    return list(map(spell_line, out))


MOST_FINDINGS = 3
"""Findings shown of a failed check; the attachment has them all."""


def failure_text(report: Report) -> str:
    """A failed check in a few lines: the worst findings with kernel, line and index, how many more there are, the verdict. The
    first begins with the kind, as a summary shows of a failure what its text begins with."""
    found = sorted((f for f in report.findings if f.severity > 0), key=rank)
    lines = kind_first([line for finding in found[:MOST_FINDINGS] for line in finding_text.lines(finding)])
    if len(found) > MOST_FINDINGS:
        lines.append(f"and {len(found) - MOST_FINDINGS} more findings")
    return _print([*lines, f"{report.model} on {report.device} ({report.target}, {report.pipeline}): {report.verdict}"])


def kind_first(lines: Sequence[str]) -> list[str]:
    """Lines of findings without the severity of the first, so that they begin with its kind."""
    severities = tuple(f"{severity}: " for severity in Severity)
    return [line.partition(": ")[2] if not place and line.startswith(severities) else line for place, line in enumerate(lines)]


def _print(lines: Iterable[str]) -> str:
    return spell_printed("\n".join(map(spell_line, lines)))
