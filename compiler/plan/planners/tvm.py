"""TVM's StaticPlanBlockMemory (Relax, 0.25 to 0.27): with its inflated texture sizes, and with right ones."""

from __future__ import annotations

import numpy as np

from ..allocation import Allocation
from ..problem import Item, Problem
from .pools import common_scope, plan_pools


def tvm(problem: Problem) -> Allocation:
    """With the planner's defect: the size of a texture, already in bytes, is multiplied by the item size once more."""
    return plan_pools("tvm", problem, key=_scope_and_dtype, size=_inflated_nbytes)


def tvm_fixed(problem: Problem) -> Allocation:
    """The same rules with right texture sizes."""
    return plan_pools("tvm-fixed", problem, key=_scope_and_dtype)


def _scope_and_dtype(item: Item) -> tuple[str, str]:
    """Buffers and textures share storages, dtypes do not."""
    return common_scope(item.scope), item.dtype


def _inflated_nbytes(item: Item) -> int:
    return item.size * np.dtype(item.dtype).itemsize if item.is_texture else item.size
