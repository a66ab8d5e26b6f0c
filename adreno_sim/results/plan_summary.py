"""What a memory plan adds up to."""

from __future__ import annotations

from ..records import dataclass


@dataclass(frozen=True)
class PlanSummary:
    """Totals in bytes. planned: storages as planned, those of a function while it runs; right: the same with right sizes;
    live_lower_bound: max over time of the sum of right sizes of all live tensors (no plan can be smaller); unplanned: the most at
    one time that the planner left to the runtime. workspace: the most that one call takes for itself. on_chip: the most at
    one time in on-chip memory, which no other total counts.
    """

    storages: int
    tensors: int
    planned: int
    right: int
    live_lower_bound: int
    unplanned: int
    constants: int
    workspace: int = 0
    on_chip: int = 0

    @property
    def inflation(self) -> float:
        """planned / right; 1.0 for an empty plan."""
        return self.planned / self.right if self.right else 1.0
