"""The interface of a check of level full. Each check is a file in `checks/`; emitters know none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kernel_plan import CheckPlan, KernelPlan


class NotVectorizable(Exception):
    """Scalar code must run; the message says what vector code does not do."""


class Check:
    """One check. An instance has no state: what a launch needs is in its plan."""

    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        """Returns the plan for scalar code; None if the check can find nothing in this launch."""
        raise NotImplementedError

    def plan_vectors(self, plan: KernelPlan) -> CheckPlan | None:
        """Returns the plan for vector code (`plan` is a VectorPlan); None if the check can find nothing in this launch.

        Raises NotVectorizable for a launch that the check must see work-item by work-item. A check without vector code needs
        no method of its own: wherever it has something to check, the launch runs in scalar code.
        """
        found = self.plan(plan)
        if found is not None:
            raise NotVectorizable(found.reason)
        return None
