"""The SPMD emitter: lanes of machine vectors are work-items of one group."""

from .kernel import plan, region_functions
from .scalar_reason import refusal
from .tile import Unsuitable

__all__ = ["Unsuitable", "plan", "refusal", "region_functions"]
