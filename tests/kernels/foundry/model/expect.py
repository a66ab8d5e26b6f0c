"""What a launch is to be told: the findings that the model has, at a level of checks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..launches import Launch, Memory
from ..layout import Array
from ..program import Program
from .evaluate import Outcome, evaluate
from .memories import Violation
from .races import Race, find_races

FULL = ("uninitialized-read",)
"""Kinds of violations that level full alone finds."""


@dataclass
class Expected:
    """violations: by kind and line. diverged: lines and groups of barriers that not all work-items reach. overlaps: pairs of
    arguments. races: at level full."""

    outcome: Outcome
    violations: dict[tuple[str, int], list[Violation]] = field(default_factory=dict)
    races: list[Race] = field(default_factory=list)
    overlaps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def diverged(self) -> list[tuple[int, int]]:
        return self.outcome.diverged

    @property
    def kinds(self) -> set[str]:
        found = {kind for kind, _ in self.violations}
        found |= {"same-value-race" if race.same else "data-race" for race in self.races}
        found |= {"divergent-barrier"} if self.diverged else set()
        return found | ({"storage-reused-while-live"} if self.overlaps else set())

    @cached_property
    def contents(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Bytes of each argument after the launch, and which of them are known."""
        bounds = self.outcome.memories.bounds
        launch = self.outcome.memories.launch
        return {
            name: (
                bounds[name].room.contents[0, value.offset : value.offset + value.nbytes],
                bounds[name].room.undefined[0, value.offset : value.offset + value.nbytes] == 0,
            )
            for name, value in launch.values.items()
            if isinstance(value, Memory)
        }

    @property
    def is_defined(self) -> bool:
        """Whether the bytes after the launch are known."""
        return not (self.outcome.undefined or self.races or self.overlaps)


def expect(program: Program, launch: Launch, full: bool) -> Expected:
    """Runs the model. full: at level full."""
    outcome = evaluate(program, launch)
    found = Expected(outcome, overlaps=_overlaps(program, launch, outcome))
    grouped: dict[tuple[str, int], list[Violation]] = defaultdict(list)
    for violation in (*outcome.memories.violations, *outcome.trace.violations()):
        if full or violation.kind not in FULL:
            grouped[violation.kind, violation.line].append(violation)
    found.violations = dict(grouped)
    races = find_races(outcome)
    outcome.undefined |= bool(races)
    if full:
        found.races = races
    return found


def _overlaps(program: Program, launch: Launch, outcome: Outcome) -> list[tuple[str, str]]:
    """Buffers that share bytes of which the launch writes some, but for those over exactly the same bytes."""
    named = [(p.name, launch.values[p.name]) for p in program.parameters if isinstance(p, Array)]
    memories = [(name, value) for name, value in named if isinstance(value, Memory)]
    if len({memory.storage for _, memory in memories}) == len(memories):
        return []
    touched: dict[tuple[str, bool], set[int]] = defaultdict(set)
    for event in outcome.memories.events:
        for start in event.starts.tolist():
            touched[event.bound.name, event.writes].update(range(start, start + event.nbytes))
    found = []
    for number, (one, a) in enumerate(memories):
        for other, b in memories[number + 1 :]:
            if a.storage != b.storage or (a.offset, a.nbytes) == (b.offset, b.nbytes):
                continue
            if (touched[one, True] & (touched[other, True] | touched[other, False])) or touched[other, True] & touched[
                one, False
            ]:
                found.append((one, other))
    return found
