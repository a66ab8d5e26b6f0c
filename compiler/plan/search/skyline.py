"""Depth-first search for a placement under a capacity, in the order of offsets.

A partial placement is a skyline: the height of every section. The next item always has the lowest offset of all that are
left, so it rests on the skyline, and everything left lies at or above it. That gives three rules:

* capacity: in each section, the lowest offset an item left there can have, plus all that is left there, must fit;
* dominance: an item that would start above where another one could end is not next, because that other one fits below;
* independence: where no item left spans a moment, the two sides are searched apart, and a failure of one ends both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from .instance import Instance, Ints

_NEVER = 2**62

FAILED, FOUND, STOPPED = 0, 1, 2


@dataclass
class Skyline:
    """The search over one instance. `conflicts` counts, for each section, how often it left no room; it grows with use."""

    instance: Instance

    def __post_init__(self) -> None:
        self.conflicts = np.zeros(self.instance.sections, np.int64)

    def search(self, capacity: int, order: Ints, nodes: int, swap: float = 0.0, seed: int = 0) -> tuple[int, Ints, int]:
        """(FOUND, FAILED = there is none, or STOPPED; offsets in units; nodes visited).

        order: which item to try first among equal offsets. swap: probability with which neighbours in that order change
        places at a node; > 0 makes a search that can be restarted with other seeds.
        """
        part = self.instance
        n = len(part)
        offset = np.full(n, -1, np.int64)
        height = np.zeros(part.sections, np.int64)
        trail = np.empty(n, np.int64)
        saved = np.empty(int((part.end - part.start).sum()), np.int64)
        counts = np.array([0, 0, nodes, _state(seed)], np.int64)
        result = _search(
            0, part.sections, np.ascontiguousarray(order, np.int64), 0, part.start, part.end, part.size, part.align,
            height, part.load.copy(), capacity, offset, trail, saved, counts, swap, self.conflicts,
        )  # fmt: skip
        return int(result), offset, int(nodes - counts[2])


def _state(seed: int) -> int:
    """A generator state that is not 0 and differs for nearby seeds."""
    return (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % (2**63 - 1) + 1


@numba.njit(cache=True, nogil=True)
def _random(counts):
    """A number in [0, 1) from the generator whose state is counts[3] (xorshift; its own, so that threads do not mix)."""
    x = np.uint64(counts[3])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    counts[3] = np.int64(x)
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0


@numba.njit(cache=True, nogil=True)
def _put(v, low, start, end, size, height, left, offset, trail, saved, counts):
    """Place item v at `low`. counts: length of the trail, of the saved heights, nodes left, state of the generator."""
    p = counts[1]
    for t in range(start[v], end[v]):
        saved[p] = height[t]
        p += 1
        height[t] = low + size[v]
        left[t] -= size[v]
    counts[1] = p
    trail[counts[0]] = v
    counts[0] += 1
    offset[v] = low


@numba.njit(cache=True, nogil=True)
def _take_back(mark, start, end, size, height, left, offset, trail, saved, counts):
    """Undo placements until the trail is `mark` long."""
    while counts[0] > mark:
        counts[0] -= 1
        v = trail[counts[0]]
        p = counts[1] - (end[v] - start[v])
        counts[1] = p
        for t in range(start[v], end[v]):
            height[t] = saved[p + t - start[v]]
            left[t] += size[v]
        offset[v] = -1


@numba.njit(cache=True, nogil=True)
def _lowest(v, floor, start, end, align, height):
    low = floor
    for t in range(start[v], end[v]):
        if height[t] > low:
            low = height[t]
    return -(-low // align[v]) * align[v]


@numba.njit(cache=True, nogil=True)
def _crowded(first, last, items, lows, start, end, left, capacity):
    """The section in [first, last) that cannot hold what is left of it, -1 where all can."""
    floor = np.full(last - first, _NEVER)
    for y in range(len(items)):
        for t in range(start[items[y]] - first, end[items[y]] - first):
            if lows[y] < floor[t]:
                floor[t] = lows[y]
    for t in range(first, last):
        if left[t] > 0 and floor[t - first] + left[t] > capacity:
            return t
    return -1


@numba.njit(cache=True, nogil=True)
def _pieces(first, last, items, start, end):
    """Bounds of the maximal stretches of [first, last) that no item spans out of: first, ..., last."""
    spans = np.zeros(last - first + 1, np.int64)
    for v in items:
        spans[start[v] + 1 - first] += 1
        spans[end[v] - first] -= 1
    bounds = [first]
    over = 0
    for t in range(1, last - first + 1):
        over += spans[t]
        if over == 0:
            bounds.append(first + t)
    return bounds


@numba.njit(cache=True, nogil=True)
def _search(
    first, last, items, floor, start, end, size, align, height, left, capacity, offset, trail, saved, counts, swap, conflicts
):
    """Place `items`, all inside sections [first, last), at offsets >= floor. Leaves the trail as it was unless FOUND."""
    if len(items) == 0:
        return FOUND
    if counts[2] <= 0:
        return STOPPED
    counts[2] -= 1
    lows = np.empty(len(items), np.int64)
    limit = _NEVER
    for y in range(len(items)):
        lows[y] = _lowest(items[y], floor, start, end, align, height)
        limit = min(limit, lows[y] + size[items[y]])
    full = _crowded(first, last, items, lows, start, end, left, capacity)
    if full >= 0:
        conflicts[full] += 1
        return FAILED
    next_items = items[lows < limit]
    next_lows = lows[lows < limit]
    if swap > 0:
        for y in range(len(next_items) - 1):
            if _random(counts) < swap:
                next_items[y], next_items[y + 1] = next_items[y + 1], next_items[y]
                next_lows[y], next_lows[y + 1] = next_lows[y + 1], next_lows[y]
    for y in np.argsort(next_lows, kind="mergesort"):
        v = next_items[y]
        low = next_lows[y]
        full = -1
        for t in range(start[v], end[v]):
            if low + left[t] > capacity:
                full = t
                break
        if full >= 0:
            conflicts[full] += 1
            continue
        mark = counts[0]
        _put(v, low, start, end, size, height, left, offset, trail, saved, counts)
        rest = items[items != v]
        bounds = _pieces(first, last, rest, start, end)
        result = FOUND
        for piece in range(len(bounds) - 1):
            a = bounds[piece]
            b = bounds[piece + 1]
            inside = rest[(start[rest] >= a) & (end[rest] <= b)]
            result = _search(
                a, b, inside, low, start, end, size, align, height, left, capacity, offset, trail, saved, counts, swap, conflicts
            )
            if result != FOUND:
                break
        if result == FOUND:
            return FOUND
        _take_back(mark, start, end, size, height, left, offset, trail, saved, counts)
        if result == STOPPED:
            return STOPPED
    return FAILED
