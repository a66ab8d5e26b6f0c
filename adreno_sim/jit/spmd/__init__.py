"""The SPMD emitter: lanes of machine vectors are work-items of one group."""

from .choice import refusal
from .kernel import plan, region_functions
from .tile import Unsuitable

__all__ = ["Unsuitable", "plan", "refusal", "region_functions"]
