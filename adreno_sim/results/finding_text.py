"""A finding in words: one head line, then where, by whom, and every store where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.text.spelling import spell_line
from ..findings import Access, Finding, WorkItem

TAB = 4
"""Columns of a tab in a source line."""
MOST_STORES = 8
"""Stores shown of one element; the JSON has them all."""


def lines(finding: Finding) -> list[str]:
    """The finding as text lines; all but the first are indented."""
    return [spell_line(line) for line in _lines(finding)]


def _lines(finding: Finding) -> list[str]:
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    out = [f"{finding.severity}: {finding.kind.label}: {finding.message}{times}"]
    where = location(finding)
    if where:
        out.append(f"  at {where}{called_from(finding)}")
    if finding.tensor:
        out.append(f"  tensor {finding.tensor}")
    if finding.work_item is not None:
        out.append(f"  work-item {work_item(finding.work_item)}")
    if finding.access is not None:
        out.append(f"  access {access(finding.access)}")
    if finding.detail.get("source"):
        out.append(f"  | {finding.detail['source']}".expandtabs(TAB))
    out += stores(finding.detail)
    return out


def location(finding: Finding) -> str:
    """ "file:kernel:line:column" as far as known."""
    parts = [finding.file, finding.kernel]
    if finding.line:
        parts += [str(finding.line), str(finding.column)]
    return ":".join(part for part in parts if part)


def called_from(finding: Finding) -> str:
    """Where an inlined helper was called, innermost call first."""
    lines = finding.detail.get("callers")
    return "".join(f", called from line {line}" for line in lines) if isinstance(lines, list) else ""


def work_item(item: WorkItem) -> str:
    """Global, local and group id."""
    return f"global {_ids(item.global_id)} local {_ids(item.local_id)} group {_ids(item.group_id)}"


def access(of: Access) -> str:
    """View, place inside its extent, size, as far as known."""
    if of.coordinate is None and of.offset is None:
        return of.view
    if of.coordinate is not None:
        place, extent = _ids(of.coordinate), f" of {_ids(of.extent)}" if of.extent else ""
    else:
        place, extent = f"byte {of.offset}", f" of {of.extent[0]} bytes" if of.extent else ""
    return f"{of.view} at {place}{extent}, {of.size} bytes"


def _ids(values: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def stores(detail: dict[str, Any]) -> list[str]:
    """Every store that touched the worst element, where a replay recorded them."""
    found = detail.get("stores")
    if not isinstance(found, list):
        return []
    if not found:
        return ["  no store touched this element"]
    out = ["  stores that touched this element, in order:"]
    for store in found[:MOST_STORES]:
        out.append(
            f"    {store['order']}: {store['value']:.9g} by work-item {_ids(store['global_id'])}, "
            f"{store['kernel']}:{store['line']}:{store['column']}"
        )
        out.append(f"       | {store['source']}")
    if len(found) > MOST_STORES:
        out.append(f"    and {len(found) - MOST_STORES} more")
    return out
