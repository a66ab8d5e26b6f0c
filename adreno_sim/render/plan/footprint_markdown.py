"""A footprint as Markdown tables, for the summary of a CI job or a comment on a change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ..markdown import cell
from ..table import Column, figure_column, list_markdown_lines
from .footprint_text import MOST_CHANGES, PLANNER, RATIO, STORAGES, describe_fit

if TYPE_CHECKING:
    from ...compiler.plan.compare import PlannerResult
    from ...compiler.plan.difference import Change, PlanDifference
    from ...compiler.plan.footprint import Footprint


def write_markdown(
    path: str | os.PathLike[str], footprint: Footprint, change: PlanDifference | None, failures: Sequence[str] = ()
) -> None:
    """Write the tables. change: against an older footprint, where there is one. failures: the limits that are exceeded."""
    failed = [line for failure in failures for line in (f"**failed**: {cell(failure)}", "")]
    write_text(path, "\n".join([*_head(footprint), *failed, *_table(footprint, change), *_causes(change)]) + "\n")


def _head(footprint: Footprint) -> list[str]:
    bound = f"live lower bound {footprint.problem.lower_bound():,} bytes"
    return [f"#### {cell(footprint.source)}", "", f"{cell(footprint.rule)}; {bound}", ""]


def _table(footprint: Footprint, change: PlanDifference | None) -> list[str]:
    totals = {} if change is None else change.totals
    fits: Column[PlannerResult] = figure_column("fits", describe_fit)
    columns = [PLANNER, *_size_columns(totals), RATIO, STORAGES, fits]
    lines = list_markdown_lines(columns, footprint.planned_rows)
    return lines + [f"\nnot planned: {cell(row.planner)}: {cell(row.skipped)}" for row in footprint.rows if row.skipped]


def _size_columns(totals: Mapping[str, tuple[int, int]]) -> list[Column[PlannerResult]]:
    """Bytes of each planner; beside those of the older footprint where there is one."""
    if not totals:
        return [figure_column("bytes", lambda row: f"{row.total:,}")]
    return [
        figure_column("before", lambda row: f"{totals[row.planner][0]:,}" if row.planner in totals else ""),
        figure_column("now", lambda row: f"{row.total:,}"),
        figure_column("change", lambda row: _describe_change(*totals[row.planner]) if row.planner in totals else "new"),
    ]


def _describe_change(old: int, new: int) -> str:
    if old == new:
        return "none"
    return f"{new - old:+,}" + (f" ({(new - old) / old:+.1%})" if old else "")


def _causes(change: PlanDifference | None) -> list[str]:
    """The tensors that are the reason."""
    if change is None:
        return []
    lines = ["", f"Live lower bound: {change.bound:+,} bytes."]
    for what, old, new in change.conditions:
        lines += ["", f"The older footprint was made for another {cell(what)}: {cell(old)}; now {cell(new)}."]
    for what, changes in (("Live at the peak", change.peak), ("Tensors", change.tensors)):
        if changes:
            lines += ["", f"{what}:", "", *(_line(item) for item in changes[:MOST_CHANGES])]
        if len(changes) > MOST_CHANGES:
            rest = sum(item.bytes for item in changes[MOST_CHANGES:])
            lines.append(f"* {rest:+,} bytes: {len(changes) - MOST_CHANGES} more kinds")
    return lines


def _line(change: Change) -> str:
    return f"* {change.bytes:+,} bytes: {change.count:+d} of {cell(change.tensor)}"
