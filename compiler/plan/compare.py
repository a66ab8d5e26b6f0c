"""Plans side by side: bytes, ratio to the lower bound, storages, and what the bytes are spent on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ...base.alignment import align_up
from ...base.errors import AdrenoSimError, UnsupportedError
from ...records import dataclass
from .allocation import Allocation
from .planners import find
from .problem import Problem
from .spans import peak_at

PAGE = 4096
"""Bytes that TVM's OpenCL runtime rounds an allocation up to."""


@dataclass(frozen=True)
class Causes:
    """A plan's bytes by cause; all but page_rounding add up to its total.

    dense: the lower bound if tensors had no padding. padding: what row pitch and alignment add to it. mismatch: bytes of
    storages beyond the tensors in them when most is live. idle: bytes of storages then empty. gaps: free bytes between
    tensors of an arena then. inflation: bytes planned beyond what right sizes need. page_rounding: what the pool's pages add.
    """

    dense: int
    padding: int
    mismatch: int
    idle: int
    gaps: int
    inflation: int
    page_rounding: int


@dataclass(frozen=True)
class PlannerResult:
    """One planner's result. total: bytes of storages, planned and left to the runtime. bound: bytes it is measured by. workspace:
    the most that one call takes for itself. peak: the most bytes of everything in device memory at one time, in whole pages
    (inputs, constants, storages, workspace, memory of OpenCL ML); both 0 where only lifetimes are known. fits: no storage is
    above the largest allocation.

    on_chip: the most bytes in on-chip memory at one time; on_chip_tensors are there, whose accesses move on_chip_traffic bytes,
    each reader reading all of a tensor once.

    skipped: why there is no result; then the figures are 0. violations: what is wrong with the plan.
    """

    planner: str
    total: int = 0
    planned: int = 0
    unplanned: int = 0
    workspace: int = 0
    peak: int = 0
    bound: int = 0
    storages: int = 0
    largest: int = 0
    fits: bool = False
    causes: Causes | None = None
    note: str = ""
    violations: tuple[str, ...] = ()

    @property
    def on_device(self) -> int:
        """What a budget is compared with: all that is in device memory at one time; storages where only lifetimes are known."""
        return self.peak or self.total

    skipped: str = ""
    on_chip: int = 0
    on_chip_tensors: int = 0
    on_chip_traffic: int = 0

    @property
    def ratio(self) -> float:
        """total / bound; 1.0 where nothing needs memory."""
        return self.total / self.bound if self.bound else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return asdict(self) | {"ratio": self.ratio}


def compare(problem: Problem, planners: Iterable[str], *, page: int = PAGE, **options: dict[str, Any]) -> list[PlannerResult]:
    """A row for each planner, in the order given. options: planner name (- as _) -> its options.

    A planner that cannot take the problem, or is not installed, gets a row that says so; an unknown one raises
    AdrenoSimError before any is run.
    """
    runs = [(name, find(name)) for name in planners]
    rows = []
    for name, planner in runs:
        try:
            rows.append(row(planner(problem, **options.get(name.replace("-", "_"), {})), page))
        except (UnsupportedError, AdrenoSimError) as error:
            rows.append(PlannerResult(name, skipped=str(error)))
    return rows


def row(whole: Allocation, page: int = PAGE) -> PlannerResult:
    """The figures of one plan; those of bytes are of device memory, except for the ones of the chip."""
    allocation = whole.in_memory()
    bound = bound_of(allocation)
    largest = max(allocation.storages, default=0)
    most = allocation.problem.max_allocation
    return PlannerResult(
        allocation.planner,
        total=allocation.total,
        planned=allocation.planned,
        unplanned=allocation.left_to_runtime,
        bound=bound,
        storages=len(allocation.storages),
        largest=largest,
        fits=most is None or largest <= most,
        causes=causes(allocation, bound, page),
        note=allocation.note,
        violations=tuple(whole.violations()),
    )


def bound_of(allocation: Allocation) -> int:
    """The live lower bound by the planner's own rounding: arenas count whole alignment units, storages bytes."""
    return allocation.problem.lower_bound(allocation.unit)


def causes(allocation: Allocation, bound: int, page: int = PAGE) -> Causes:
    """What the plan's bytes are spent on; see Causes."""
    problem = allocation.problem
    dense = min(problem.dense_bound(), bound)
    used = [0] * len(allocation.storages)
    for number in _live_at_peak(problem, allocation.unit):
        used[allocation.storage_of[number]] += align_up(problem.items[number].size, allocation.unit)
    spare = {number: size - used[number] for number, size in enumerate(allocation.needed) if used[number]}
    packed = {storage for storage, offset in zip(allocation.storage_of, allocation.offsets, strict=True) if offset}
    gaps = sum(spare[number] for number in packed if number in spare)
    right, _ = allocation.most(allocation.needed)
    return Causes(
        dense=dense,
        padding=bound - dense,
        mismatch=sum(spare.values()) - gaps,
        idle=right - sum(used) - sum(spare.values()),
        gaps=gaps,
        inflation=allocation.total - right,
        page_rounding=sum(align_up(size, page) - size for size in allocation.storages),
    )


def _live_at_peak(problem: Problem, unit: int) -> Sequence[int]:
    """The items live when most bytes are, sizes rounded up to `unit`."""
    _, when = peak_at((item.start, item.end, align_up(item.size, unit)) for item in problem.items)
    return [number for number, item in enumerate(problem.items) if item.start <= when < item.end]
