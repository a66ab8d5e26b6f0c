"""The exact planner: OR-tools' CP-SAT places rectangles without overlap and proves how low it can go."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from typing import Any

from ....base.alignment import align_up
from ....base.installed.extras import require
from ..allocation import Allocation
from ..problem import Problem
from ..search.improve import Effort
from .arena import arena


def optimal(
    problem: Problem, *, seconds: float = 60.0, workers: int = 2, seed: int = 0, effort: Effort | None = None, alone: bool = False
) -> Allocation:
    """The lowest arena, or the lowest found within `seconds`; `bound` is what was proved, `note` says which of the two.

    Starts from the arena planner's answer (of `effort`) and counts in its units, in one arena however large; `alone`: from
    a greedy one, so that the two can be compared. Raises MissingPackageError if ortools is not installed.
    """
    model_of = _cp_model()
    start = arena(replace(problem, max_allocation=None), Effort(work=0) if alone else effort)
    if not problem.items or start.total == start.bound:
        return _answer(problem, start.offsets, start.total, start.total)
    unit = problem.unit
    model, peak, offsets = _model(model_of, problem, start, unit)
    solver = model_of.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    if status not in (model_of.OPTIMAL, model_of.FEASIBLE):
        return _answer(problem, start.offsets, start.total, problem.lower_bound(unit))
    found = tuple(int(solver.value(offset)) * item.alignment for offset, item in zip(offsets, problem.items, strict=True))
    bound = math.ceil(solver.best_objective_bound - 1e-6) * unit
    return _answer(problem, found, int(solver.value(peak)) * unit, bound)


def _cp_model() -> Any:
    require("ortools")
    return importlib.import_module("ortools.sat.python.cp_model")


def _model(cp_model: Any, problem: Problem, start: Allocation, unit: int) -> tuple[Any, Any, list[Any]]:
    """Rectangles of fixed time; offsets counted in each item's own alignment, heights in units."""
    model = cp_model.CpModel()
    most = start.total // unit
    peak = model.new_int_var(problem.lower_bound(unit) // unit, most, "peak")
    offsets, spans, heights = [], [], []
    for number, item in enumerate(problem.items):
        step, size = item.alignment // unit, align_up(item.size, unit) // unit
        offset = model.new_int_var(0, (most - size) // step, f"offset{number}")
        model.add_hint(offset, start.offsets[number] // item.alignment)
        model.add(offset * step + size <= peak)
        offsets.append(offset)
        spans.append(model.new_fixed_size_interval_var(item.start, item.end - item.start, f"life{number}"))
        heights.append(model.new_fixed_size_interval_var(offset * step, size, f"bytes{number}"))
    model.add_no_overlap_2d(spans, heights)
    model.minimize(peak)
    return model, peak, offsets


def _answer(problem: Problem, offsets: tuple[int, ...], total: int, bound: int) -> Allocation:
    note = "optimal" if total == bound else f"best found; proved that none is below {bound} bytes"
    storages = (total,) if problem.items else ()
    return Allocation("optimal", problem, storages, (0,) * len(problem.items), offsets, bound=bound, unit=problem.unit, note=note)
