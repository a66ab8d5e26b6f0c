"""Recorded stores of a replay as JSON for the detail of a finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.text.line_markers import number_lines
from ..device.protocol import StoreEvent
from ..findings import WorkItem


def describe_stores(events: Iterable[StoreEvent], kernel: str, source: str) -> list[dict[str, Any]]:
    """Every store in order, with its source location, work-item, value and source line."""
    lines = number_lines(source)
    return [_store_to_json(event, kernel, lines) for event in sorted(events, key=lambda event: event.order)]


def _store_to_json(event: StoreEvent, kernel: str, lines: dict[int, str]) -> dict[str, Any]:
    item = event.work_item
    ids = item if isinstance(item, WorkItem) else WorkItem((0, 0, 0), (0, 0, 0), (0, 0, 0))
    return {
        "order": event.order,
        "kernel": kernel,
        "line": event.line,
        "column": event.column,
        "value": event.value,
        "global_id": ids.global_id,
        "local_id": ids.local_id,
        "source": lines.get(event.line, "").strip(),
    }
