"""A footprint for people: one line a planner, what the bytes are spent on, what changed since an older one."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, say_block, teller
from ..table import Column, figure_column, print_table
from . import graph_plan_text

if TYPE_CHECKING:
    from ...compiler.plan.compare import PlannerResult
    from ...compiler.plan.difference import Change, PlanDifference
    from ...compiler.plan.footprint import Footprint

PLANNER: Column[PlannerResult] = Column("planner", lambda row: row.planner)
RATIO: Column[PlannerResult] = figure_column("ratio", lambda row: f"{row.ratio:.3f}")
STORAGES: Column[PlannerResult] = figure_column("storages", lambda row: str(row.storages))

TOTAL: Column[PlannerResult] = figure_column("bytes", lambda row: f"{row.total:,}")
RUN: list[Column[PlannerResult]] = [
    figure_column("planned", lambda row: f"{row.planned:,}"),
    figure_column("unplanned", lambda row: f"{row.unplanned:,}"),
    figure_column("workspace", lambda row: f"{row.workspace:,}"),
    figure_column("peak", lambda row: f"{row.peak:,}"),
]
"""What the bytes are and what comes on top, where a model's run is known."""

CHIP: list[Column[PlannerResult]] = [
    figure_column("on chip", lambda row: f"{row.on_chip:,}"),
    figure_column("traffic there", lambda row: f"{row.on_chip_traffic:,}"),
]
"""Bytes of on-chip memory, and those that accesses to its tensors move."""

CAUSES = {
    "dense": "dense", "pitch": "padding", "slots": "mismatch", "idle": "idle", "gaps": "gaps", "item size": "inflation",
    "pages": "page_rounding",
}  # fmt: skip
"""Titles of columns, each with the cause whose bytes it shows."""

MOST_CHANGES = 10
"""Changed tensors, or findings, that are listed; the others are counted."""

HEAD = """\
bytes = planned + left to the runtime, the most of both at one time; workspace = of the largest call; peak = the most that a run
has in device memory at one time, with inputs and constants, in whole pages."""

CHIP_HEAD = """\
on chip = the most at one time in on-chip memory, which no other figure counts; traffic there = bytes that accesses to its
tensors move in a run, each reader reading all of a tensor once."""

LEGEND = """\
live, by cause: dense = tensors at the peak without padding; pitch = row pitch and alignment; slots = storages larger than
their tensors, idle = storages empty, gaps = free bytes inside, all at the peak; item size = planned beyond right sizes.
dense + ... + item size = bytes; pages come on top (the pool rounds each storage up)."""


def show(footprint: Footprint, file: IO[str], budget: int | None = None) -> None:
    """Print the comparison."""
    console = open_console(file)
    say = teller(console)
    problem = footprint.problem
    say(f"{footprint.source}: {len(problem.items)} tensors to place; {footprint.rule}")
    say(f"live lower bound {problem.lower_bound():,} bytes")
    print_table(console, _columns(budget, footprint), footprint.planned_rows)
    if footprint.plan is not None:
        say_block(console, HEAD, "dim")
    if any(row.on_chip for row in footprint.rows):
        say_block(console, CHIP_HEAD, "dim")
    print_table(console, [PLANNER, *_cause_columns()], footprint.planned_rows)
    say_block(console, LEGEND, "dim")
    if footprint.plan is not None:
        say(outside_line(footprint))
    for line in graph_plan_text.lines(footprint.graphs):
        say(line)
    for finding in footprint.findings[:MOST_CHANGES]:
        say(f"{finding.severity}: as compiled: {finding.kind.label}: {finding.message}")
    if len(footprint.findings) > MOST_CHANGES:
        say(f"{len(footprint.findings) - MOST_CHANGES} more findings (--json has them all)")
    for row in footprint.rows:
        known = row.planner == "as compiled"  # the audit has said it, with more about the tensors
        for sentence in (row.note, *(() if known else row.violations[:3])):
            if sentence:
                say(f"{row.planner}: {sentence}")
        if len(row.violations) > 3 and not known:
            say(f"{row.planner}: {len(row.violations) - 3} more like these")
        if row.skipped:
            say(f"not planned: {row.planner}: {row.skipped}")


def _columns(budget: int | None, footprint: Footprint) -> list[Column[PlannerResult]]:
    """What a run takes where it is known, not only lifetimes; what is on the chip where anything does."""
    run = RUN if footprint.plan is not None else []
    chip = CHIP if any(row.on_chip for row in footprint.rows) else []
    return [PLANNER, TOTAL, RATIO, STORAGES, *run, *chip, figure_column("fits?", lambda row: describe_fit(row, budget))]


def _cause_columns() -> list[Column[PlannerResult]]:
    return [_cause_column(title, cause) for title, cause in CAUSES.items()]


def _cause_column(title: str, cause: str) -> Column[PlannerResult]:
    return figure_column(title, lambda row: f"{getattr(row.causes, cause):,}" if row.causes else "")


def describe_fit(row: PlannerResult, budget: int | None = None) -> str:
    """Whether a plan may be used: on the device, and within `budget` bytes."""
    if row.violations:
        return "invalid"
    if not row.fits:
        return "no"
    return "over budget" if budget is not None and row.on_device > budget else "yes"


def outside_line(footprint: Footprint) -> str:
    """Bytes that the plan as compiled leaves to the runtime, and those that no planner places."""
    assert footprint.plan is not None
    plan = footprint.plan
    whys: dict[str, int] = {}
    for storage in plan.storages:
        if not storage.planned:
            whys[storage.why or "left alone"] = whys.get(storage.why or "left alone", 0) + storage.planned_bytes
    parts = ", ".join(f"{why} {nbytes:,}" for why, nbytes in whys.items())
    fixed = {kind: sum(t.nbytes for t in plan.fixed if t.kind == kind) for kind in ("input", "output")}
    return (
        f"outside the plan: unplanned {plan.summary.unplanned:,}{f' ({parts})' if parts else ''}, "
        f"workspace of a call {plan.summary.workspace:,}, "
        f"constants {plan.summary.constants:,}, inputs {fixed['input']:,}, outputs {fixed['output']:,} bytes"
    )


def show_difference(difference: PlanDifference, file: IO[str]) -> None:
    """Print what changed, planner by planner, and the tensors that are the reason."""
    print(f"against {difference.source}:", file=file)
    for what, then, now in difference.conditions:
        print(f"  it was made for another {what}: {then}; now {now}", file=file)
    for planner, (old, new) in difference.totals.items():
        print(f"  {planner}: {old:,} -> {new:,} ({new - old:+,})", file=file)
    print(f"  live lower bound: {difference.bound:+,}", file=file)
    _changes("live at the peak", difference.peak, file)
    _changes("tensors", difference.tensors, file)


def _changes(what: str, changes: tuple[Change, ...], file: IO[str]) -> None:
    print(f"  {what}: {'no change' if not changes else ''}".rstrip(), file=file)
    for change in changes[:MOST_CHANGES]:
        print(f"    {change.bytes:+,} bytes: {change.count:+d} x {change.tensor}", file=file)
    if len(changes) > MOST_CHANGES:
        rest = sum(change.bytes for change in changes[MOST_CHANGES:])
        print(f"    {rest:+,} bytes: {len(changes) - MOST_CHANGES} more kinds", file=file)
