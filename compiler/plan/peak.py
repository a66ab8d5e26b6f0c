"""The most device memory that a run takes at one time: inputs, constants, storages, workspaces, memory of OpenCL ML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...base.alignment import align_up
from ...base.specs import TensorSpec
from ..artifact.memory_plan import ON_CHIP, MemoryPlan
from .allocation import Allocation
from .replan import plan_of
from .rules import DeviceRules
from .spans import ALWAYS, live_peak

if TYPE_CHECKING:
    from .graphs import GraphPlan

Life = tuple[int, int, int]
"""Memory of some bytes on [start, end): (start, end, bytes)."""

NEVER = ALWAYS[1]


def find_peak(plan: MemoryPlan, allocation: Allocation | None, rules: DeviceRules, graphs: Sequence[GraphPlan] = ()) -> int:
    """Bytes in whole pages, each piece of memory counted while it exists in a run of `plan`, or of `allocation` in its place.

    Planned storages exist from their first to their last use, so that this may be less than their sum. plan: sizes by `rules`.
    graphs: those of the model that the plan is of.
    """
    placed = plan if allocation is None else plan_of(allocation, plan)
    lives = [*_fixed(placed, rules), *_storages(placed, rules), *_workspaces(placed), *_graphs(graphs)]
    return live_peak((start, end, align_up(max(nbytes, 1), rules.page)) for start, end, nbytes in lives)


def _fixed(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Life]:
    """Inputs, and constants that the program uploads: TVM's virtual machine has them all before the first instruction."""
    for tensor in plan.fixed:
        if tensor.first is not None:
            spec = TensorSpec(tensor.shape, tensor.dtype, tensor.scope)
            yield 0, NEVER, rules.view_size(spec)
            yield from _apart(spec, 0, NEVER, rules)


def _storages(plan: MemoryPlan, rules: DeviceRules) -> Iterator[Life]:
    for storage in plan.storages:
        if storage.scope == ON_CHIP:
            continue
        yield storage.first, storage.last + 1, storage.planned_bytes
    for tensor in plan.tensors:
        if tensor.storage in plan.on_chip:
            continue
        yield from _apart(TensorSpec(tensor.shape, tensor.dtype, tensor.scope), tensor.first, tensor.last + 1, rules)


def _apart(spec: TensorSpec, first: int, end: int, rules: DeviceRules) -> Iterator[Life]:
    """The image that a device without images over buffers makes beside a texture's storage."""
    if spec.scope.startswith("global.texture") and not rules.image_views:
        yield first, end, rules.size(spec)


def _workspaces(plan: MemoryPlan) -> Iterator[Life]:
    for workspace in plan.workspaces:
        yield workspace.instruction, workspace.instruction + 1, workspace.nbytes


def _graphs(graphs: Sequence[GraphPlan]) -> Iterator[Life]:
    """Weights of each graph, from when it is first run; the plan has its other tensors (`graph_tensors`)."""
    for graph in graphs:
        for nbytes in graph.weights:
            yield graph.first, NEVER, nbytes
