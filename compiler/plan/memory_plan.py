"""A memory plan as data: storages, the tensors that live in them, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedStorage:
    """One alloc_storage. planned_bytes as the planner wrote it; needed_bytes the largest right size among its tensors.

    [first, last] are VM instruction indices over which the storage exists. planned: False where the planner left a
    tensor alone (function results, unknown shapes) and gave it a storage of its own.
    """

    id: str
    scope: str
    planned_bytes: int
    needed_bytes: int
    first: int
    last: int
    planned: bool = True


@dataclass(frozen=True)
class PlannedTensor:
    """One tensor in a storage. dense_bytes unpadded, right_bytes under the device's pitch rule; live on [first, last].

    An alias (reshape) is not listed: it extends the life of the tensor it names. `origin` is the host function that
    writes it first.
    """

    id: str
    storage: str
    offset: int
    shape: tuple[int, ...]
    dtype: str
    scope: str
    dense_bytes: int
    right_bytes: int
    first: int
    last: int
    origin: str = ""


@dataclass(frozen=True)
class PlanSummary:
    """Totals in bytes. planned: sum of storages as planned; right: the same with right sizes; live_lower_bound: max over
    time of the sum of right sizes of live tensors (no plan can be smaller); unplanned: storages the planner left alone.
    """

    storages: int
    tensors: int
    planned: int
    right: int
    live_lower_bound: int
    unplanned: int
    constants: int

    @property
    def inflation(self) -> float:
        """planned / right; 1.0 for an empty plan."""
        return self.planned / self.right if self.right else 1.0


@dataclass(frozen=True)
class MemoryPlan:
    """The plan of one entry function for one set of input shapes under one pitch rule.

    `rule` says in words how right sizes were computed. Invariant: every tensor names a listed storage and lies inside
    that storage's [first, last].
    """

    function: str
    rule: str
    storages: tuple[PlannedStorage, ...]
    tensors: tuple[PlannedTensor, ...]
    summary: PlanSummary
