"""The tensors at the peak of a plan, who makes and reads them, and what each change would save when all is placed again."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from ....base.alignment import align_up
from ....records import dataclass
from ...artifact.memory_plan import MemoryPlan
from ..planners.arena import arena
from ..problem import Problem
from ..rules import DeviceRules
from ..search.improve import Effort
from ..spans import peak_at
from .edits import KINDS, Edit, Editor

MOST_TENSORS = 24
"""Tensors at the peak that are asked about, the largest first."""

EFFORT = Effort(work=60_000_000)
"""Of placing the tensors once: a change is judged by many placements, each with and without it."""


@dataclass(frozen=True)
class Change:
    """A change to one tensor: what it is, the bytes that it saves (negative: that it costs)."""

    kind: str
    text: str
    saves: int


@dataclass(frozen=True)
class PeakTensor:
    """A tensor at the peak of `size` bytes. producer, reader: what writes it first and reads it last. changes: the best first."""

    id: str
    size: int
    shape: tuple[int, ...]
    dtype: str
    scope: str
    producer: str
    reader: str
    changes: tuple[Change, ...]

    @property
    def best(self) -> Change | None:
        """The change that saves most; None if none saves anything."""
        return next((change for change in self.changes if change.saves > 0), None)


@dataclass(frozen=True)
class Advice:
    """What to attack: the tensors live at the peak at instruction `when`, those first that a change saves most of.

    planner: that placed the tensors with and without each change. base: its bytes without one. left_out: tensors at the peak that
    are smaller than all of these.
    """

    planner: str
    base: int
    when: int
    tensors: tuple[PeakTensor, ...]
    left_out: int

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


def advise(plan: MemoryPlan, rules: DeviceRules) -> Advice:
    """Advice about `plan`, whose sizes are those of `rules`.

    A change is a change of the tensors to place, which are then placed again, whatever one allocation may hold: nothing is
    subtracted.
    """
    problem = replace(rules.problem(plan), max_allocation=None)
    unit = problem.unit
    _, when = peak_at((item.start, item.end, align_up(item.size, unit)) for item in problem.items)
    live = sorted((item for item in problem.items if item.start <= when < item.end), key=lambda item: (-item.size, item.id))
    base, editor = _bytes(problem), Editor(plan, problem, rules)
    found = []
    for item in live[:MOST_TENSORS]:
        tensor = editor.tensors[item.id]
        changes = [Change(edit.kind, edit.text, base - _bytes_after(edit, base)) for edit in editor.edits(item.id, when)]
        changes.sort(key=lambda change: (-change.saves, KINDS.index(change.kind)))
        kind = item.shape, item.dtype, item.scope
        found.append(PeakTensor(item.id, item.size, *kind, tensor.producer, tensor.reader, tuple(changes)))
    found.sort(key=lambda tensor: (-(tensor.best.saves if tensor.best else 0), -tensor.size, tensor.id))
    return Advice("arena", base, when, tuple(found), max(len(live) - MOST_TENSORS, 0))


def _bytes(problem: Problem) -> int:
    return arena(problem, EFFORT).total


def _bytes_after(edit: Edit, base: int) -> int:
    """Bytes after the change; no more than before where the search missed the placement that there was."""
    found = _bytes(edit.problem)
    smaller = edit.kind in ("half", "other scope")
    return min(found, base) if smaller else found
