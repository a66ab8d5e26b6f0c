"""The checks of level full, one file each behind the interface of `emit.check`.

What is known when compiling costs nothing: a check that can find nothing in a launch has no plan and adds no code. A launch
runs as vectors first if every check that concerns it has vector code; if one raises the fault flag, scalar code reports where
and what.
"""

from __future__ import annotations

from ..emit.check import Check
from ..emit.kernel_plan import CheckPlan, KernelPlan
from .data_races import DataRaces
from .definedness import Definedness
from .logical_extents import LogicalExtents

CHECKS: tuple[Check, ...] = (Definedness(), DataRaces(), LogicalExtents())
"""All of them. Their callbacks run in this order."""


def plan_scalar(plan: KernelPlan) -> list[CheckPlan]:
    """Returns the plans of the checks that concern a launch in scalar code."""
    return [found for check in CHECKS if (found := check.plan(plan)) is not None]


def plan_vectors(plan: KernelPlan) -> list[CheckPlan]:
    """Returns the plans of the checks that concern a launch in vector code; none below level full. Raises NotVectorizable."""
    if not plan.unit.spec.full:
        return []
    return [found for check in CHECKS if (found := check.plan_vectors(plan)) is not None]
