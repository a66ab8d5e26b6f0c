"""First fit in a given order without a list of neighbours: for dense instances, in which that would be too long."""

from __future__ import annotations

import numpy as np

from .instance import Instance, Ints
from .machine_code import compiled

NO_END = 2**62


def place_by_scanning(instance: Instance, order: Ints, room: int = NO_END) -> Ints:
    """The offsets of `firstfit.place_in_order`, found by going through what is placed from the lowest offset up.

    -1 for items that are not in `order`, or would end above `room`. Time: up to half the square of the number of items.
    """
    return _place(np.ascontiguousarray(order, np.int64), instance.start, instance.end, instance.size, instance.align, room)


@compiled
def _place(order: Ints, start: Ints, end: Ints, size: Ints, align: Ints, most: int) -> Ints:
    n = len(order)
    offset = np.full(len(start), -1, np.int64)
    low = np.empty(n, np.int64)  # of what is placed, ascending
    high, first, last = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    count = 0
    for v in order:
        begin, stop, room, top = np.int32(start[v]), np.int32(end[v]), size[v], np.int64(0)
        for y in range(count):
            if first[y] < stop and begin < last[y]:
                if low[y] - top >= room:
                    break
                if high[y] > top:
                    top = -(-high[y] // align[v]) * align[v]
        if top + room > most:
            continue
        offset[v] = top
        x = np.searchsorted(low[:count], top)
        for array, value in ((low, top), (high, top + room)):
            array[x + 1 : count + 1] = array[x:count].copy()
            array[x] = value
        for moment, when in ((first, begin), (last, stop)):
            moment[x + 1 : count + 1] = moment[x:count].copy()
            moment[x] = when
        count += 1
    return offset
