"""Placement in the order of time, as an allocator at run time would: for instances with too many overlapping pairs to list."""

from __future__ import annotations

import numpy as np

from .instance import Instance, Ints
from .machine_code import compiled


def place_by_time(instance: Instance, backwards: bool = False) -> Ints:
    """Offsets in units, each item in the smallest gap between those live when it starts (backwards: when it ends).

    Time: the number of items times the largest number live at one instruction.
    """
    begin, finish = instance.start, instance.end
    if backwards:
        begin, finish = -instance.end, -instance.start
    order = np.lexsort((-instance.size, begin))
    return _place(order, np.argsort(finish, kind="stable"), begin, finish, instance.size, instance.align)


@compiled
def _place(order: Ints, ends: Ints, begin: Ints, finish: Ints, size: Ints, align: Ints) -> Ints:
    offset = np.full(len(order), -1, np.int64)
    low = np.empty(len(order), np.int64)  # of the live items, ascending
    high = np.empty(len(order), np.int64)
    count = 0
    gone = 0
    for v in order:
        while finish[ends[gone]] <= begin[v]:
            x = np.searchsorted(low[:count], offset[ends[gone]])
            for y in range(x, count - 1):
                low[y] = low[y + 1]
                high[y] = high[y + 1]
            count -= 1
            gone += 1
        top = 0
        pos = count
        smallest = np.int64(-1)
        for y in range(count):
            gap = low[y] - top
            if gap >= size[v] and (smallest < 0 or gap < smallest):
                smallest = gap
                offset[v] = top
                pos = y
            top = -(-high[y] // align[v]) * align[v]
        if smallest < 0:
            offset[v] = top
        for y in range(count, pos, -1):
            low[y] = low[y - 1]
            high[y] = high[y - 1]
        low[pos] = offset[v]
        high[pos] = offset[v] + size[v]
        count += 1
    return offset
