"""The lowest placement that a given effort finds: constructions, then searches that learn from where they fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import orders
from .firstfit import place_in_order
from .instance import Instance, Ints
from .skyline import FAILED, FOUND, Skyline

CONSTRUCTIONS = ("SW", "AS", "WS", "TS", "TWA", "LW", "UW")
"""Orders of placement that are tried first (letters as in `orders.keys`)."""

SEARCH_ORDERS = ("WAT", "TWA")
"""Orders among equal offsets that the search takes in turn."""

DEEP = 1_500
"""Most items of a group that the search, which recurses once an item, is used for."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to search. The same effort and seed always give the same placement.

    nodes: partial placements visited in all. restart: nodes before a search starts anew with what it has learnt.
    """

    nodes: int = 1_500_000
    restart: int = 5_000
    swap: float = 0.3
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Placement:
    """Offsets in units, and the peak below which there is proved to be no placement."""

    offsets: Ints
    bound: int


def lowest_placement(instance: Instance, effort: Effort) -> Placement:
    """Groups of items that share no time are placed apart; only those that stand out above the bound are searched."""
    offsets = np.zeros(len(instance), np.int64)
    goal = instance.bound
    groups = []
    for numbers in instance.components():
        part = instance.part(numbers)
        offsets[numbers] = construct(part, goal)
        groups.append((part.peak(offsets[numbers]), numbers, part))
    bound = goal
    for peak, numbers, part in sorted(groups, key=lambda group: -group[0]):
        if peak > goal and len(part) <= DEEP:
            found = search(part, offsets[numbers], goal, effort)
            offsets[numbers] = found.offsets
            bound = max(bound, found.bound)
        goal = max(goal, part.peak(offsets[numbers]))
    return Placement(offsets, bound)


def construct(part: Instance, goal: int) -> Ints:
    """The best of the constructions; the first one that reaches `goal`."""
    best: Ints | None = None
    for name in CONSTRUCTIONS:
        for best_fit in (False, True):
            placed = place_in_order(part, orders.order(part, name), best_fit)
            if best is None or part.peak(placed) < part.peak(best):
                best = placed
            if part.peak(best) <= goal:
                return best
    assert best is not None
    return best


def search(part: Instance, placed: Ints, goal: int, effort: Effort) -> Placement:
    """`placed`, or a placement with a lower peak, down to `goal`."""
    best, peak, bound = placed, part.peak(placed), goal
    skyline = Skyline(part)
    keys = orders.keys(part)
    nodes, step = effort.nodes, 0
    while nodes > 0 and peak > bound:
        name = SEARCH_ORDERS[step % len(SEARCH_ORDERS)]
        tiers = np.floor(np.log2(orders.fullest(part, skyline.conflicts) + 1)).astype(np.int64)
        order = np.lexsort([*(keys[letter] for letter in reversed(name)), -tiers])
        capacity = _capacity(bound, peak, step)
        swap = effort.swap if step else 0.0
        result, found, used = skyline.search(capacity, order, min(nodes, effort.restart), swap, effort.seed + step)
        nodes -= max(used, 1)
        step += 1
        if result == FOUND:
            best, peak = found, part.peak(found)
        elif result == FAILED:
            bound = capacity + 1
    return Placement(best, bound)


def _capacity(goal: int, peak: int, step: int) -> int:
    """Capacities to try in turn, from just below the best known peak down to the goal."""
    share = (0, 2, 1, 3)[step % 4]
    return min(goal + (peak - goal) * share // 4, peak - 1)
