"""Allocations as memory plans and back: what a planner answered about a plan, and what a plan says as an allocation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...base.errors import AdrenoSimError
from ...base.specs import TensorSpec
from ..artifact.memory_plan import ON_CHIP, RUNTIME_COPY, MemoryPlan, PlannedStorage, PlannedTensor
from .allocation import Allocation
from .extract import summarise
from .problem import Item, Problem
from .rules import DeviceRules

AS_COMPILED = "as compiled"
"""Name of the allocation that a plan already is."""


def plan_of(allocation: Allocation, plan: MemoryPlan | None = None) -> MemoryPlan:
    """`plan` with the tensors of the allocation where it puts them; without a plan, one of these tensors alone.

    What the planner was not asked to place stays unchanged. Sizes are those of the allocation's problem.
    """
    if plan is None:
        plan = _plan_without_model(allocation.problem)
    if plan.order != allocation.problem.order:
        raise AdrenoSimError(f"planner {allocation.planner}: its tensors live in another order of execution than the plan's")
    placed = {item.id: number for number, item in enumerate(allocation.problem.items)}
    names = [f"{allocation.planner}.{number}" for number in range(len(allocation.storages))]
    tensors = tuple(
        tensor if (number := placed.get(tensor.id)) is None else _move_tensor(tensor, allocation, number, names)
        for tensor in plan.tensors
    )
    kept = {tensor.storage for tensor in plan.tensors if tensor.id not in placed}
    storages = _storages(allocation, names)
    storages += [storage for storage in plan.storages if storage.id in kept]
    summary = summarise(storages, tensors, plan.summary.constants, plan.workspaces)
    held = {(item.recording[0], item.recording[1]) for item in allocation.chip_items if item.recording}
    recordings = tuple(sorted(held | set(plan.recordings)))
    return replace(plan, storages=tuple(storages), tensors=tensors, summary=summary, recordings=recordings)


def allocation_of(plan: MemoryPlan, problem: Problem) -> Allocation:
    """The plan as it stands, over the tensors of `problem` (all of them in the plan)."""
    tensors = {tensor.id: tensor for tensor in plan.tensors}
    used = {tensors[item.id].storage for item in problem.items}
    storages = [storage for storage in plan.storages if storage.id in used]
    numbers = {storage.id: number for number, storage in enumerate(storages)}
    unplanned = frozenset(numbers[storage.id] for storage in storages if not storage.planned)
    on_chip = frozenset(numbers[storage.id] for storage in storages if storage.scope == ON_CHIP)
    return Allocation(
        AS_COMPILED,
        problem,
        tuple(storage.planned_bytes for storage in storages),
        tuple(numbers[tensors[item.id].storage] for item in problem.items),
        tuple(tensors[item.id].offset for item in problem.items),
        unplanned=unplanned,
        on_chip=on_chip,
    )


def with_rules(plan: MemoryPlan, rules: DeviceRules) -> MemoryPlan:
    """`plan` with right sizes as the device has them; storages keep what was planned for them, copies take what they need."""
    tensors = tuple(
        replace(tensor, right_bytes=rules.size(TensorSpec(tensor.shape, tensor.dtype, tensor.scope))) for tensor in plan.tensors
    )
    needed: dict[str, int] = {}
    for tensor in tensors:
        needed[tensor.storage] = max(needed.get(tensor.storage, 0), tensor.offset + tensor.right_bytes)
    storages = tuple(_with_needed(storage, needed.get(storage.id, 0)) for storage in plan.storages)
    summary = summarise(storages, tensors, plan.summary.constants, plan.workspaces)
    return replace(plan, rule=rules.text, storages=storages, tensors=tensors, summary=summary)


def _with_needed(storage: PlannedStorage, nbytes: int) -> PlannedStorage:
    free = not storage.planned and storage.why == RUNTIME_COPY
    return replace(storage, needed_bytes=nbytes, planned_bytes=nbytes if free else storage.planned_bytes)


def _move_tensor(tensor: PlannedTensor, allocation: Allocation, number: int, names: list[str]) -> PlannedTensor:
    size = allocation.problem.items[number].size
    storage, offset = names[allocation.storage_of[number]], allocation.offsets[number]
    return replace(tensor, storage=storage, offset=offset, right_bytes=size, allocated=True)


def _storages(allocation: Allocation, names: list[str]) -> list[PlannedStorage]:
    """The allocation's storages, each from the first to the last instant that a tensor in it lives."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    whys: dict[int, str] = {}
    for item, storage in zip(allocation.problem.items, allocation.storage_of, strict=True):
        first[storage] = min(item.start, first.get(storage, item.start))
        last[storage] = max(item.last, last.get(storage, item.last))
        whys[storage] = item.left_alone if storage in allocation.unplanned else ""
    needed = allocation.needed
    return [
        PlannedStorage(
            name, ON_CHIP if number in allocation.on_chip else "global", allocation.storages[number], needed[number],
            first.get(number, 0), last.get(number, 0),
            number not in allocation.unplanned, whys.get(number, ""),
        )
        for number, name in enumerate(names)
    ]  # fmt: skip


def _plan_without_model(problem: Problem) -> MemoryPlan:
    tensors = tuple(map(_tensor, problem.items))
    storages = tuple(_own_storage(problem.items))
    return MemoryPlan(problem.name or "trace", "sizes as given", storages, tensors, summarise(storages, tensors, 0))


def _tensor(item: Item) -> PlannedTensor:
    return PlannedTensor(
        item.id, item.id, 0, item.shape, item.dtype, item.scope, item.dense or item.size, item.size, item.start, item.last
    )


def _own_storage(items: Iterable[Item]) -> Iterable[PlannedStorage]:
    for item in items:
        yield PlannedStorage(item.id, item.scope, item.size, item.size, item.start, item.last)
