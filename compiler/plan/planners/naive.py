"""A storage for every tensor."""

from __future__ import annotations

from ..allocation import Allocation
from ..problem import Problem


def naive(problem: Problem) -> Allocation:
    """No reuse at all: what the others are measured from."""
    count = len(problem.items)
    return Allocation("naive", problem, tuple(item.size for item in problem.items), tuple(range(count)), (0,) * count)
