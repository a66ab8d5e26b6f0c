"""A finding in words: one head line, then where, by whom, and every store where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.text.spelling import spell_line, split_lines
from ..explanations import help_of
from ..findings import Access, Finding, Note, WorkItem

TAB = 4
"""Columns of a tab in a source line."""
MOST_NODES = 3
"""Nodes shown of a kernel that serves several; the JSON has them all."""
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
    if finding.nodes:
        out.append(f"  {node_words(finding)}")
    if finding.tensor:
        out.append(f"  tensor {finding.tensor}")
    if finding.work_item is not None:
        out.append(f"  work-item {work_item(finding.work_item)}")
    if finding.access is not None:
        out.append(f"  access {access(finding.access)}")
    if finding.detail.get("source"):
        out.append(f"  | {finding.detail['source']}".expandtabs(TAB))
    out += stores(finding.detail)
    out += [f"  {note_line(note, finding)}" for note in finding.notes]
    out.append(f"  help: {help_of(finding)}")
    return out + patch_lines(finding)


def node_words(finding: Finding) -> str:
    """The nodes of the model that a finding is of: "node conv1", "nodes conv1, conv2 and 3 more"; "" if none is known."""
    names, more = finding.nodes[:MOST_NODES], len(finding.nodes) - MOST_NODES
    if not names:
        return ""
    return f"node{'s' if len(finding.nodes) > 1 else ''} {', '.join(names)}{f' and {more} more' if more > 0 else ''}"


def note_line(note: Note, finding: Finding) -> str:
    """A note with its place: "line 7: work-item (1, 0, 0) writes it here", or "util.h:7: ...", where the file is another one."""
    if not note.line:
        return f"note: {note.label}"
    other = note.file if note.file != finding.file else ""
    return f"{f'{other}:' if other else 'line '}{note.line}: {note.label}"


def patch_lines(finding: Finding) -> list[str]:
    """The patch of a finding, if it has one."""
    if not finding.patch:
        return []
    return ["  patch, with which the same launch ran clean:", *(f"  {line}" for line in split_lines(finding.patch.rstrip("\n")))]


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
