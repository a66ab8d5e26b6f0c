"""A footprint as Markdown tables, for the summary of a CI job or a comment on a change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.json_io import write_text
from ..markdown import cell, table
from .footprint_text import MOST_CHANGES

if TYPE_CHECKING:
    from ...compiler.plan.compare import Row
    from ...compiler.plan.difference import Change, Difference
    from ...compiler.plan.footprint import Footprint


def write_markdown(path: str | os.PathLike[str], footprint: Footprint, change: Difference | None) -> None:
    """Write the tables. change: against an older footprint, where there is one."""
    write_text(path, "\n".join([*_head(footprint), *_table(footprint, change), *_causes(change)]) + "\n")


def _head(footprint: Footprint) -> list[str]:
    bound = f"live lower bound {footprint.problem.lower_bound():,} bytes"
    return [f"#### {cell(footprint.source)}", "", f"{cell(footprint.rule)}; {bound}", ""]


def _table(footprint: Footprint, change: Difference | None) -> list[str]:
    totals = {} if change is None else change.totals
    names = ["planner", *(["before", "now", "change"] if totals else ["bytes"]), "ratio", "storages", "fits"]
    rows = []
    for row in footprint.rows:
        if not row.skipped:
            sizes = _sizes(row, totals.get(row.planner)) if totals else [f"{row.total:,}"]
            fits = "invalid" if row.violations else ("yes" if row.fits else "no")
            rows.append([cell(row.planner), *sizes, f"{row.ratio:.3f}", str(row.storages), fits])
    lines = table(names, rows)
    return lines + [f"\nnot planned: {cell(row.planner)}: {cell(row.skipped)}" for row in footprint.rows if row.skipped]


def _sizes(row: Row, totals: tuple[int, int] | None) -> list[str]:
    if totals is None:
        return ["", f"{row.total:,}", "new"]
    old, new = totals
    percent = f" ({(new - old) / old:+.1%})" if old and new != old else ""
    return [f"{old:,}", f"{new:,}", f"{new - old:+,}{percent}" if new != old else "none"]


def _causes(change: Difference | None) -> list[str]:
    """Because of which tensors."""
    if change is None:
        return []
    lines = ["", f"Live lower bound: {change.bound:+,} bytes."]
    for what, changes in (("Live at the peak", change.peak), ("Tensors", change.tensors)):
        if changes:
            lines += ["", f"{what}:", "", *(_line(item) for item in changes[:MOST_CHANGES])]
        if len(changes) > MOST_CHANGES:
            rest = sum(item.bytes for item in changes[MOST_CHANGES:])
            lines.append(f"* {rest:+,} bytes: {len(changes) - MOST_CHANGES} more kinds")
    return lines


def _line(change: Change) -> str:
    return f"* {change.bytes:+,} bytes: {change.count:+d} of {cell(change.tensor)}"
