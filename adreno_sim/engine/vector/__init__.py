"""The vector emitter: the lanes of machine vectors are work-items of one group."""

from ..emit.check import NotVectorizable
from .kernel import estimate_cost, plan, region_functions
from .scalar_reason import scalar_reason

__all__ = ["NotVectorizable", "estimate_cost", "plan", "region_functions", "scalar_reason"]
