"""Repair of a placement under a lower capacity: what stands out is put where it drives out least, which is then put elsewhere.

An item that drives others out grows heavier, so that it is not driven out again at once and the search does not turn in
circles. It works on a few items and their neighbours only, so that it suits placements too large to search as a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .instance import Instance, Ints
from .machine_code import compiled

Floats = NDArray[np.float64]


def repair(instance: Instance, offsets: Ints, capacity: int, work: int, seed: int = 0) -> tuple[Ints | None, int]:
    """(`offsets` changed so that nothing ends above `capacity`, or None if `work` did not do; work done).

    Work counts pairs of an offset tried and a neighbour.
    """
    rows, numbers = instance.neighbours
    placed = offsets.copy()
    area = instance.size * (instance.end - instance.start)
    left = _repair(
        rows, numbers, instance.size, instance.align, np.sqrt(area.astype(np.float64)), placed, capacity, work, seed + 1
    )
    return (placed if left >= 0 else None), int(work - max(left, 0))


@compiled
def _heaviest(stack: Ints, count: int, weight: Floats) -> int:
    best = 0
    for x in range(1, count):
        if weight[stack[x]] > weight[stack[best]]:
            best = x
    return best


@compiled
def _best_offset(
    low: Ints, high: Ints, heavy: Floats, size: int, align: int, capacity: int, banned: int, seed: int,
) -> tuple[int, float, int]:  # fmt: skip
    """(offset, weight driven out) of the lightest place that is not `banned`: on a neighbour, under one, or at an end."""
    k = len(low)
    best = -1
    lightest = np.inf
    ties = 0
    for x in range(-1, 2 * k + 1):
        if x < 0:
            at = 0
        elif x < k:
            at = -(-high[x] // align) * align
        elif x < 2 * k:
            at = (low[x - k] - size) // align * align
        else:
            at = (capacity - size) // align * align
        if at < 0 or at + size > capacity or at == banned:
            continue
        weight = 0.0
        for y in range(k):
            if low[y] < at + size and high[y] > at:
                weight += heavy[y]
        if weight < lightest:
            lightest, best, ties = weight, at, 1
        elif weight == lightest:
            ties += 1
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            if (seed >> 8) % ties == 0:
                best = at
    return best, lightest, seed


@compiled
def _repair(
    rows: Ints, numbers: NDArray[np.int32], size: Ints, align: Ints, first_weight: Floats, offset: Ints, capacity: int,
    work: int, seed: int,
) -> int:  # fmt: skip
    """Work left, -1 where it ran out; `offset` is changed in place."""
    n = len(size)
    weight = first_weight.copy()
    before = np.full(n, -1, np.int64)
    stack = np.empty(n, np.int64)
    count = 0
    for v in range(n):
        if offset[v] + size[v] > capacity:
            before[v] = offset[v]
            offset[v] = -1
            stack[count] = v
            count += 1
    most = 0
    for v in range(n):
        most = max(most, rows[v + 1] - rows[v])
    low, high, heavy, who = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    while count > 0:
        x = _heaviest(stack, count, weight)
        v = stack[x]
        count -= 1
        stack[x] = stack[count]
        k = 0
        for y in range(rows[v], rows[v + 1]):
            j = numbers[y]
            if offset[j] >= 0:
                low[k], high[k], heavy[k], who[k] = offset[j], offset[j] + size[j], weight[j], j
                k += 1
        work -= 2 * k * k + count + 1
        if work < 0:
            return -1
        at, driven, seed = _best_offset(low[:k], high[:k], heavy[:k], size[v], align[v], capacity, before[v], seed)
        if at < 0:
            at = before[v]
        offset[v] = at
        if driven > 0:
            weight[v] += first_weight[v]
            for y in range(k):
                if low[y] < at + size[v] and high[y] > at:
                    before[who[y]] = offset[who[y]]
                    offset[who[y]] = -1
                    stack[count] = who[y]
                    count += 1
    return work
