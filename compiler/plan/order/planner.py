"""Planners that choose an order of execution: found on the model's steps, kept only where the tensors then take less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...artifact.memory_plan import MemoryPlan
from ...artifact.model import CompiledModel
from .. import planners
from ..allocation import Allocation
from ..extract import extract_plan
from ..graphs import GraphPlan, first_runs
from ..replan import with_rules
from ..rules import DeviceRules
from .reorder import find_order, reorder


def place_reordered(model: CompiledModel, rules: DeviceRules, planner: str) -> tuple[Allocation, MemoryPlan]:
    """The tensors of `model`, whose shapes are known, where `planner` puts them, and the plan in the order that it chooses.

    planner: one with a name in `places`, which places them in the order with the lowest peak and in the order as compiled: the
    former is chosen where it takes fewer bytes. Raises as that planner does.
    """
    placer = planners.places(planner)
    whole, _, order = find_order(model, rules)
    given = with_rules(extract_plan(model), rules)
    chosen = _place(given, rules, placer)
    if order.steps != tuple(range(len(order.steps))):
        other = with_rules(ordered_plan(whole, order.steps), rules)
        placed = _place(other, rules, placer)
        if placed.total < chosen.total:
            given, chosen = other, placed
    return replace(chosen, planner=planner), given


def in_order(graphs: Sequence[GraphPlan], model: CompiledModel, order: Sequence[int]) -> tuple[GraphPlan, ...]:
    """Plans of the subgraphs of `model` when its steps run in `order`."""
    first = first_runs(reorder(model, order))
    return tuple(replace(graph, first=first.get(graph.name, 0)) for graph in graphs)


def _place(plan: MemoryPlan, rules: DeviceRules, placer: str) -> Allocation:
    return planners.plan(placer, rules.problem(plan))


def ordered_plan(model: CompiledModel, order: Sequence[int]) -> MemoryPlan:
    """The plan of `model` with its steps in `order`. Storages are as compiled: tensors in them may meet until they are placed."""
    return replace(extract_plan(reorder(model, order)), order=tuple(order))
