"""One pool for buffers and textures alike (TVM pull request 17571)."""

from __future__ import annotations

from ..allocation import Allocation
from ..problem import Problem
from .pools import common_scope, plan_pools


def unified(problem: Problem) -> Allocation:
    """The one-dimensional rule over everything of one scope, dtypes mixed: a tensor is a view of its storage.

    A storage has the size of its largest member.
    """
    return plan_pools("unified", problem, key=lambda item: common_scope(item.scope))
