"""What allow-lists accepted, in words and as JSON: never silent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..allow import Allowed, AllowEntry, describe_expired
from . import encode, finding_text


def allow_lines(allowed: Sequence[Allowed], expired: Sequence[AllowEntry]) -> list[str]:
    """What allow-list entries accepted, and entries that are past their day."""
    out = [
        f"allowed: {item.finding.severity}: {item.finding.kind.label} at {finding_text.location(item.finding)}: "
        f"{item.entry.reason} ({item.entry.where}, until {item.entry.expires})"
        for item in allowed
    ]
    return out + [f"expired allow-list entry: {describe_expired(entry)}" for entry in expired]


def allowed_to_json(allowed: Iterable[Allowed]) -> list[dict[str, Any]]:
    """Accepted findings, each with the reason and the last day of its entry."""
    return [
        {
            "finding": encode.finding_to_json(item.finding),
            "reason": item.entry.reason,
            "expires": item.entry.expires.isoformat(),
            "entry": item.entry.where,
        }
        for item in allowed
    ]
