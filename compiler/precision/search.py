"""Finds which layers to leave in the network's own type, so that its outputs stay within a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ...records import dataclass
from .local_error import LayerError

Evaluate = Callable[[frozenset[int]], float]
"""The network's error with these layers left unchanged."""


@dataclass
class Search:
    """What was tried, in order: layers left unchanged, and the error of the network. best: the fewest that met the bound."""

    bound: float
    tried: dict[frozenset[int], float] = field(default_factory=dict)

    @property
    def best(self) -> frozenset[int] | None:
        met = [skip for skip, error in self.tried.items() if error <= self.bound]
        return min(met, key=lambda skip: (len(skip), self.tried[skip])) if met else None


def search(errors: Sequence[LayerError], evaluate: Evaluate, bound: float, most_runs: int) -> Search:
    """Fewest layers to skip, worst first: bisection over how many, then each of those put back if the bound still holds.

    The error of a network need not fall with every layer skipped, so what comes out is the best of what was tried, and
    was itself run. most_runs: evaluations at most; at least 2.
    """
    found = Search(bound)
    order = [layer.number for layer in sorted(errors, key=lambda layer: (-layer.error, layer.number))]

    def meets(skip: frozenset[int]) -> bool:
        if skip not in found.tried:
            found.tried[skip] = evaluate(skip)
        return found.tried[skip] <= bound

    if meets(frozenset()) or not meets(frozenset(order)):
        return found
    low, high = 0, len(order)  # low is known to fail, high to do
    while high - low > 1 and len(found.tried) < most_runs:
        middle = (low + high) // 2
        if meets(frozenset(order[:middle])):
            high = middle
        else:
            low = middle
    for number in reversed(order[: high - 1]):  # the last one is what made the bound hold
        if len(found.tried) >= most_runs:
            break
        assert found.best is not None
        meets(found.best - {number})
    return found
