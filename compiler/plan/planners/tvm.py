"""TVM's StaticPlanBlockMemory (Relax, 0.25 to 0.27): with its inflated texture sizes, and with right ones."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..allocation import Allocation
from ..problem import Item, Problem
from .pools import common_scope, left_to_runtime, plan_pools


def tvm(problem: Problem) -> Allocation:
    """With the planner's defect: the size of a texture, already in bytes, is multiplied by the item size once more."""
    return left_to_runtime("tvm", problem, lambda part: plan_pools("tvm", part, key=_common_storage, size=_inflated_nbytes))


def tvm_fixed(problem: Problem) -> Allocation:
    """The same rules with right texture sizes."""
    return left_to_runtime("tvm-fixed", problem, lambda part: plan_pools("tvm-fixed", part, key=_common_storage))


def _common_storage(item: Item) -> Hashable:
    """Buffers and textures share storages; dtypes, functions, and symbolic sizes that are not equal do not."""
    return common_scope(item.scope), item.dtype, item.call, item.symbolic


def _inflated_nbytes(item: Item) -> int:
    return item.size * np.dtype(item.dtype).itemsize if item.is_texture else item.size
