"""Placement one item at a time in a given order, each as low as it goes among what is already there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .instance import Instance, Ints
from .machine_code import compiled


def place_in_order(instance: Instance, order: Ints, best_fit: bool = False) -> Ints:
    """Offsets in units. Each item goes into the lowest gap between live neighbours that holds it (best_fit: the smallest).

    Costs the number of overlapping pairs, times the logarithm of how many meet.
    """
    rows, numbers = instance.neighbours
    return _place(np.ascontiguousarray(order, np.int64), rows, numbers, instance.size, instance.align, best_fit)


@compiled
def _place(order: Ints, rows: Ints, numbers: NDArray[np.int32], size: Ints, align: Ints, best_fit: bool) -> Ints:
    n = len(order)
    offset = np.full(n, -1, np.int64)
    low = np.empty(n, np.int64)
    high = np.empty(n, np.int64)
    for v in order:
        k = 0
        for x in range(rows[v], rows[v + 1]):
            j = numbers[x]
            if offset[j] >= 0:
                low[k] = offset[j]
                high[k] = offset[j] + size[j]
                k += 1
        offset[v] = _lowest(low[:k], high[:k], size[v], align[v], best_fit)
    return offset


@compiled
def _lowest(low: Ints, high: Ints, size: int, align: int, best_fit: bool) -> int:
    """The offset for `size` among the taken ranges [low, high), which may overlap one another."""
    if len(low) > 24:
        order = np.argsort(low)
        low = low[order]
        high = high[order]
    else:
        _insertion_sort(low, high)
    top = 0
    found = -1
    smallest = 0
    for y in range(len(low)):
        gap = low[y] - top
        if gap >= size and (found < 0 or gap < smallest):
            found = top
            smallest = gap
            if not best_fit:
                return found
        if high[y] > top:
            top = -(-high[y] // align) * align
    return found if found >= 0 else top


@compiled
def _insertion_sort(low: Ints, high: Ints) -> None:
    for i in range(1, len(low)):
        a = low[i]
        b = high[i]
        y = i - 1
        while y >= 0 and low[y] > a:
            low[y + 1] = low[y]
            high[y + 1] = high[y]
            y -= 1
        low[y + 1] = a
        high[y + 1] = b
