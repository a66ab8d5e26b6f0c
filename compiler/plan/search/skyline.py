"""Depth-first search for a placement under a capacity, in the order of offsets.

The next item always has the lowest offset of all that are left, so it rests on what is below it, and everything left is
at or above it. So each item left has a lowest offset that is known (`lows`), and four rules prune:

* capacity: in each section, the lowest offset of the items left there, plus the sizes left there, must fit;
* support: an item is at 0 or on another one; one whose support is below the last offset waits for another support, as
  does one that could not be next at its low, for those tried after it;
* dominance: an item is not next if another one would fit whole between its own support and that item's offset;
* independence: where no item left spans a moment, the two sides are searched apart, and a failure of one ends both.

They lose nothing: of the placements under the capacity, the one with the least sum of offsets breaks none of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....records import dataclass
from .instance import Instance, Ints
from .machine_code import compiled

FAILED, FOUND, STOPPED = 0, 1, 2

SCRATCH = 7
"""Lists that are needed for a moment only, and so are made once for a whole search."""

NODE_WORK = 100
"""Items that take as long to examine as a placement takes besides."""


@dataclass
class Skyline:
    """The search over one instance. `conflicts` counts, for each section, how often it left no room; it grows with use."""

    instance: Instance

    def __post_init__(self) -> None:
        self.conflicts = np.zeros(self.instance.sections, np.int64)

    def search(self, capacity: int, order: Ints, work: int, swap: float = 0.0, seed: int = 0) -> tuple[int, Ints, int]:
        """(FOUND, FAILED = there is none, or STOPPED; offsets in units; work done).

        order: which item to try first among equal offsets. work: items and sections examined before it stops. swap:
        probability with which neighbours in that order change places; > 0 makes searches of different seeds differ.
        """
        part = self.instance
        n = len(part)
        offset = np.full(n, -1, np.int64)
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        state = np.array([work, _generator(seed), 0], np.int64)
        result = _search(
            0, part.sections, np.arange(n), np.zeros(n, np.int64), np.zeros(n, np.int64), rank, part.start, part.end,
            part.size, part.align, part.load.copy(), capacity, offset, np.empty(n, np.int64), state, swap, self.conflicts,
            np.empty((SCRATCH, n + part.sections + 1), np.int64),
        )  # fmt: skip
        return int(result), offset, int(work - state[0])


def _generator(seed: int) -> int:
    """A generator state that is not 0 and differs for nearby seeds."""
    return (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % (2**63 - 1) + 1


@compiled
def _random(state: Ints) -> float:
    """A number in [0, 1) from the generator in state[1] (xorshift; its own, so that threads do not mix)."""
    x = np.uint64(state[1])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[1] = np.int64(x)
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0


@compiled
def _find_crowded(
    first: int, last: int, items: Ints, lows: Ints, start: Ints, end: Ints, left: Ints, capacity: int, after: Ints,
) -> int:  # fmt: skip
    """A section in [first, last) that cannot hold what is left of it, -1 where all can. Items come in order of `lows`.

    Each section is examined once, with the first item that spans it; after[t] leads to the next section not examined.
    """
    for t in range(last - first + 1):
        after[t] = t
    for y in range(len(items)):
        stop = end[items[y]] - first
        t = start[items[y]] - first
        while True:
            while after[t] != t:
                after[t] = after[after[t]]
                t = after[t]
            if t >= stop:
                break
            if lows[y] + left[first + t] > capacity:
                return first + t
            after[t] = t + 1
    return -1


@compiled
def _raise(items: Ints, lows: Ints, supports: Ints, size: Ints, late: Ints, late_supports: Ints) -> int:
    """Raise to its least possible support every item that is above what it rests on, keeping the order of lows.

    Such an item rests on one of those left, so not below the lowest top that one of them can have. Returns the number of
    items that may be next: those at the front, on their support and below that top.
    """
    n = len(items)
    before = np.int64(-1)
    while True:
        limit = lows[0] + size[items[0]]
        for y in range(1, n):
            limit = min(limit, lows[y] + size[items[y]])
        if limit == before:
            break
        before = limit
        front = count = 0
        y = 0
        while y < n and lows[y] < limit:
            if lows[y] == supports[y]:
                items[front], lows[front], supports[front] = items[y], lows[y], supports[y]
                front += 1
            else:
                late[count], late_supports[count] = items[y], supports[y]
                count += 1
            y += 1
        for x in range(count):
            items[front + x], lows[front + x], supports[front + x] = late[x], limit, late_supports[x]
        if count == 0 or front == 0:  # front: what is lowest has nothing to rest on, so that no item may be next
            break
    below = supports[0] + size[items[0]]
    for y in range(1, n):
        below = min(below, supports[y] + size[items[y]])
    found = 0
    while found < n and lows[found] < below and lows[found] == supports[found]:
        found += 1
    return found


@compiled
def _candidates(found: int, items: Ints, lows: Ints, rank: Ints, swap: float, state: Ints) -> Ints:
    """The `found` first positions in the order to try them: by low, then rank, with chance swaps."""
    chosen = np.arange(found)
    for y in range(1, found):
        x = y
        while x > 0 and lows[chosen[x - 1]] == lows[y] and rank[items[chosen[x - 1]]] > rank[items[y]]:
            chosen[x] = chosen[x - 1]
            x -= 1
        chosen[x] = y
    if swap > 0:
        for y in range(found - 1):
            if lows[chosen[y]] == lows[chosen[y + 1]] and _random(state) < swap:
                chosen[y], chosen[y + 1] = chosen[y + 1], chosen[y]
    return chosen


@compiled
def _align(low: int, align: int) -> Any:
    return low if align == 1 else -(-low // align) * align


@compiled
def _insert(items: Ints, lows: Ints, supports: Ints, count: int, item: int, low: int, support: int) -> None:
    """Put an item into the `count` sorted ones, after its equals."""
    x = count
    while x > 0 and lows[x - 1] > low:
        items[x], lows[x], supports[x] = items[x - 1], lows[x - 1], supports[x - 1]
        x -= 1
    items[x], lows[x], supports[x] = item, low, support


@compiled
def _rest(
    position: int, items: Ints, lows: Ints, supports: Ints, start: Ints, end: Ints, size: Ints, align: Ints, scratch: Ints,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """What is left after the item at `position`, with its new lows and supports, in the order of lows.

    Items live with it rise to its top, the others to its offset: each of the two stays sorted (except for alignment), so that
    one merge does.
    """
    v = items[position]
    floor = lows[position]
    top = floor + size[v]
    n = len(items) - 1
    out, out_lows, out_supports = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    apart, apart_lows, apart_supports = scratch[0], scratch[1], scratch[2]
    risen, risen_lows, risen_supports = scratch[3], scratch[4], scratch[5]
    count = count_risen = 0
    for y in range(n + 1):
        u = items[y]
        if y == position:
            continue
        if start[u] < end[v] and start[v] < end[u]:
            support = max(_align(top, align[u]), supports[y])
            _insert(risen, risen_lows, risen_supports, count_risen, u, max(support, lows[y]), support)
            count_risen += 1
        else:
            _insert(apart, apart_lows, apart_supports, count, u, max(_align(floor, align[u]), lows[y]), supports[y])
            count += 1
    x = y = 0
    for z in range(n):
        if y == count_risen or (x < count and apart_lows[x] <= risen_lows[y]):
            out[z], out_lows[z], out_supports[z] = apart[x], apart_lows[x], apart_supports[x]
            x += 1
        else:
            out[z], out_lows[z], out_supports[z] = risen[y], risen_lows[y], risen_supports[y]
            y += 1
    return out, out_lows, out_supports


@compiled
def _next_support(position: int, items: Ints, lows: Ints, start: Ints, end: Ints, size: Ints, align: Ints) -> np.int64:
    """The least offset of an item that is to rest on another one of those left; -1 where none is live with it."""
    v = items[position]
    least = np.int64(-1)
    for y in range(len(items)):
        u = items[y]
        if y != position and start[u] < end[v] and start[v] < end[u] and (least < 0 or lows[y] + size[u] < least):
            least = lows[y] + size[u]
    return least if least < 0 else _align(least, align[v])


@compiled
def _bounds(first: int, last: int, items: Ints, start: Ints, end: Ints, spans: Ints) -> Ints:
    """first, ..., last: every moment between that no item spans."""
    spans[: last - first + 1] = 0
    for v in items:
        spans[start[v] + 1 - first] += 1
        spans[end[v] - first] -= 1
    bounds = np.empty(last - first + 1, np.int64)
    bounds[0] = first
    count = 1
    over = 0
    for t in range(1, last - first + 1):
        over += spans[t]
        if over == 0:
            bounds[count] = first + t
            count += 1
    return bounds[:count]


@compiled
def _fits(v: int, low: int, start: Ints, end: Ints, left: Ints, capacity: int) -> int:
    """-1, or a section of item v that could not hold what is left of it once v is at `low`."""
    for t in range(start[v], end[v]):
        if low + left[t] > capacity:
            return t
    return -1


@compiled
def _take(v: int, sign: int, start: Ints, end: Ints, size: Ints, left: Ints) -> None:
    for t in range(start[v], end[v]):
        left[t] -= sign * size[v]


@compiled
def _search(
    first: int, last: int, items: Ints, lows: Ints, supports: Ints, rank: Ints, start: Ints, end: Ints, size: Ints,
    align: Ints, left: Ints, capacity: int, offset: Ints, trail: Ints, state: Ints, swap: float, conflicts: Ints,
    scratch: Ints,
) -> int:  # fmt: skip
    """Place `items`, all inside sections [first, last), none below its low. Unless FOUND, leaves all but its own lists as it was.

    state: work left, generator, length of the trail (the items placed so far, in order).
    """
    if len(items) == 0:
        return FOUND
    if state[0] <= 0:
        return STOPPED
    state[0] -= len(items) + last - first + NODE_WORK
    found = _raise(items, lows, supports, size, scratch[0], scratch[1])
    full = _find_crowded(first, last, items, lows, start, end, left, capacity, scratch[0])
    if full >= 0:
        conflicts[full] += 1
        return FAILED
    for position in _candidates(found, items, lows, rank, swap, state):
        v = items[position]
        full = _fits(v, lows[position], start, end, left, capacity)
        result = FAILED
        if full >= 0:
            conflicts[full] += 1
        else:
            state[0] -= len(items)
            mark = state[2]
            _take(v, 1, start, end, size, left)
            offset[v] = lows[position]
            trail[mark] = v
            state[2] = mark + 1
            rest, rest_lows, rest_supports = _rest(position, items, lows, supports, start, end, size, align, scratch)
            bounds = _bounds(first, last, rest, start, end, scratch[0])
            result = FOUND
            for piece in range(len(bounds) - 1):
                a = bounds[piece]
                b = bounds[piece + 1]
                if b - a == last - first:
                    inside, inside_lows, inside_supports = rest, rest_lows, rest_supports
                else:
                    chosen = (start[rest] >= a) & (end[rest] <= b)
                    inside, inside_lows, inside_supports = rest[chosen], rest_lows[chosen], rest_supports[chosen]
                result = _search(
                    a, b, inside, inside_lows, inside_supports, rank, start, end, size, align, left, capacity, offset, trail,
                    state, swap, conflicts, scratch,
                )  # fmt: skip
                if result != FOUND:
                    break
            if result == FOUND:
                return FOUND
            while state[2] > mark:
                state[2] -= 1
                _take(trail[state[2]], -1, start, end, size, left)
                offset[trail[state[2]]] = -1
            if result == STOPPED:
                return STOPPED
        support = _next_support(position, items, lows, start, end, size, align)
        if support < 0:
            return FAILED
        lows[position] = support
    return FAILED
