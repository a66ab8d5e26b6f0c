"""Sections of RESULTS.md: tables, and the rows in which something was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(f"| {' | '.join(cells)} |" for cells in rows)]


def list_wrong(rows: Iterable[dict[str, Any]], *names: str) -> list[str]:
    """What each row's `wrong` says, under the cells that name the row; nothing where no row says anything."""
    wrong = [f"* {', '.join(row[name] for name in names)}: {text}" for row in rows for text in row["wrong"]]
    return ["Wrong:", "", *wrong, ""] if wrong else []
