"""Orders in which to place items: what is hard to place goes first."""

from __future__ import annotations

import numpy as np

from .instance import Instance, Ints


def keys(instance: Instance) -> dict[str, Ints]:
    """Sort keys, hardest first under each: Size, Class of size (two to an octave), Width (lifetime), Area, Total (load of its
    fullest section), Lower, Upper."""
    octave = np.frexp(instance.size.astype(np.float64))[1].astype(np.int64) - 1
    width = instance.end - instance.start
    return {
        "S": -instance.size,
        "C": -2 * octave - (2 * instance.size >= 3 << octave),
        "W": -width,
        "A": -width * instance.size,
        "T": -fullest(instance, instance.load),
        "L": instance.start,
        "U": -instance.end,
    }


def fullest(instance: Instance, values: Ints) -> Ints:
    """For each item the largest of `values` (one a section) over its lifetime. Costs n log n (a sparse table)."""
    width = instance.end - instance.start
    level = np.frexp(width.astype(np.float64))[1] - 1
    out = np.zeros(len(instance), np.int64)
    table = np.asarray(values)
    for power in range(int(level.max(initial=0)) + 1):
        here = np.flatnonzero(level == power)
        first, second = instance.start[here], instance.end[here] - (1 << power)
        out[here] = np.maximum(table[first], table[second])
        if len(table) > 1 << power:
            table = np.maximum(table[: len(table) - (1 << power)], table[1 << power :])
    return out


def order(instance: Instance, name: str) -> Ints:
    """Item numbers sorted by the keys that the letters of `name` stand for, the first letter first; then by number."""
    known = keys(instance)
    return np.lexsort([known[letter] for letter in reversed(name)])


def scatter(count: int, seed: int) -> Ints:
    """A number for each of `count` items that says nothing about it, and is the same on every machine."""
    mixed = (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(2 * seed + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(2)).astype(np.int64)
