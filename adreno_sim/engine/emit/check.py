"""The interface of a check of level full. Each check is a file in `checks/`; emitters know none of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .instrumentation import Instrumentation

if TYPE_CHECKING:
    from .region import KernelPlan, RegionEmitter

ArenaRange = tuple[int, int]
"""Arena offset and bytes."""


class NotVectorizable(Exception):
    """Scalar code must run; the message says what vector code does not do."""


@dataclass
class CheckPlan:
    """What the regions of a kernel share for one check.

    reason: what the check looks at in this launch, in words that may follow "because of". zeroed_per_worker,
    zeroed_per_group: shadows that are cleared before a worker's first group, and before each group. counts_epochs: the check
    needs the logical clock (`shadow.epochs`). shadows_private: vector code keeps a shadow of each private variable;
    private_rooms says where in the arena, as `KernelPlan.private` does.
    """

    reason: str
    zeroed_per_worker: list[ArenaRange] = field(default_factory=list)
    zeroed_per_group: list[ArenaRange] = field(default_factory=list)
    counts_epochs: bool = False
    shadows_private: bool = False
    private_rooms: dict[int, tuple[int, int]] = field(default_factory=dict)

    def instrument(self, e: RegionEmitter) -> Instrumentation:
        """Returns the callbacks for one region. They report by diagnostic sites in scalar code, and raise the fault flag in
        vector code."""
        raise NotImplementedError

    def functions(self) -> list[str]:
        """Returns the LLVM functions that the code calls, once per module, after all regions were emitted."""
        return []

    def certain_successions(self) -> frozenset[tuple[int, int]]:
        """Returns pairs (earlier, later) of sites such that every work-item that executes the first also executes the second."""
        return frozenset()


class Check:
    """One check. An instance has no state: what a launch needs is in its plan."""

    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        """Returns the plan for scalar code; None if the check can find nothing in this launch."""
        raise NotImplementedError

    def plan_vectors(self, plan: KernelPlan) -> CheckPlan | None:
        """Returns the plan for vector code (`plan` is a VectorPlan); None if the check can find nothing in this launch.

        Raises NotVectorizable for a launch that the check must see work-item by work-item. A check without vector code needs
        no method of its own: wherever it has something to look at, the launch runs in scalar code.
        """
        found = self.plan(plan)
        if found is not None:
            raise NotVectorizable(found.reason)
        return None
