"""The planner that uses on-chip memory: it has what moves most bytes inside one recording, another planner places the rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ....base.errors import UnsupportedError
from ...artifact.memory_plan import MemoryPlan
from ...artifact.model import CompiledModel
from .. import planners
from ..allocation import Allocation
from ..extract import extract_plan
from ..inline import inline_calls
from ..problem import Problem
from ..replan import with_rules
from ..rules import DeviceRules
from .place import choose, may_lie_on_chip
from .recordings import find_recordings


def recordable_plan(model: CompiledModel) -> MemoryPlan:
    """The plan of `model` with every recording that its program allows."""
    recordings = tuple((found.begin, found.end) for found in find_recordings(inline_calls(model)))
    return replace(extract_plan(model), recordings=recordings)


def place_on_chip(model: CompiledModel, rules: DeviceRules, planner: str) -> Allocation:
    """The tensors of `model`, whose shapes are known, where `planner` puts them: on the chip, or where the one that it names in
    `places` does. Raises UnsupportedError for a device without on-chip memory that a plan may use, and as that planner does."""
    return fill_chip(chip_problem(recordable_plan(model), rules, planner), planner)


def chip_problem(plan: MemoryPlan, rules: DeviceRules, planner: str) -> Problem:
    """The tensors of a plan with those that are on the chip, or may. Errors as of `place_on_chip`."""
    if why := rules.why_no_chip:
        raise UnsupportedError(f"planner {planner}: {why}")
    if not plan.recordings:
        raise UnsupportedError(f"planner {planner}: no recording is possible, or the plan names none: give the model itself")
    return rules.problem(with_rules(plan, rules), chip=True)


def fill_chip(problem: Problem, planner: str) -> Allocation:
    """As `place_on_chip`, for tensors whose recording the problem names."""
    offsets = choose(problem.items, problem.on_chip)
    stay = [number for number in range(len(problem.items)) if number not in offsets]
    rest = planners.plan(planners.places(planner), replace(problem, items=tuple(problem.items[number] for number in stay)))
    storage_of, places = dict(zip(stay, rest.storage_of, strict=True)), dict(zip(stay, rest.offsets, strict=True))
    chip = len(rest.storages)
    end = max((offset + problem.items[number].size for number, offset in offsets.items()), default=0)
    return Allocation(
        planner,
        problem,
        (*rest.storages, end) if offsets else rest.storages,
        tuple(storage_of.get(number, chip) for number in range(len(problem.items))),
        tuple({**places, **offsets}[number] for number in range(len(problem.items))),
        unplanned=rest.unplanned,
        on_chip=frozenset({chip}) if offsets else frozenset(),
        unit=rest.unit,
        note=_note(problem, offsets),
    )


def _note(problem: Problem, chosen: Collection[int]) -> str:
    """What is not on the chip though a recording has it, and why."""
    left = [item for number, item in enumerate(problem.items) if item.recording and number not in chosen]
    textures = [item for item in left if item.is_texture]
    others = [item for item in left if not item.is_texture]
    large = sum(not may_lie_on_chip(item, problem.on_chip) for item in others)
    parts = []
    if textures:
        nbytes = sum(item.size for item in textures)
        parts.append(
            f"{len(textures)} textures of {nbytes:,} bytes are not on the chip: how images lie there is in no public text"
        )
    if large:
        parts.append(f"{large} buffers are larger than the {problem.on_chip:,} bytes there")
    if len(others) > large:
        parts.append(f"for {len(others) - large} buffers the chip has no room left")
    return "; ".join(parts)
