"""The range in which each integer input of a model is generated, by what consumes it.

Indices are generated from all that they may be: a table of 30,000 rows is not judged by its first 8. Masks are zeros and ones,
lengths at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...base.integers.interval import Interval
from .index_uses import MASK, IndexUse, index_uses
from .value_ranges import UNKNOWN, ValueRanges

LARGEST = 1 << 24
"""Where nothing bounds an index from above, as one that is taken modulo: integers to here are exact in float32."""


def input_ranges(module: Any, positions: Iterable[int], symbols: Mapping[str, int] | None = None) -> dict[int, Interval]:
    """For the parameters of main at `positions`, the range in which every use of them is right; none for one without such a use.

    What memory is read or written at goes before masks, these before lengths and one-hot indices.
    """
    ranges = ValueRanges(module, symbols)
    wanted = frozenset(positions)
    found: dict[int, dict[int, Interval]] = {position: {} for position in wanted}
    for use in index_uses(ranges) if wanted else ():
        fitted = _fit(use, ranges, wanted)
        for position, bounds in fitted.items():
            ranks = found[position]
            ranks[_rank(use)] = _meet(ranks.get(_rank(use)), bounds)
    return {position: ranks[min(ranks)] for position, ranks in found.items() if ranks}


def _rank(use: IndexUse) -> int:
    return 0 if use.strict else 1 if use.what == MASK else 2


def _meet(known: Interval | None, other: Interval) -> Interval:
    """What is in both ranges; the one that was known where nothing is."""
    return other if known is None else known.common(other) or known


def _fit(use: IndexUse, ranges: ValueRanges, wanted: frozenset[int]) -> dict[int, Interval]:
    """The widest range of the parameters behind a use for which its operand is right; empty where none is found."""
    low, high = max(0, *use.lows), min(use.highs)
    at_zero, read = ranges.of(use.operand, dict.fromkeys(wanted, Interval.exactly(0)))
    read &= wanted
    if not read or at_zero == UNKNOWN:
        return {}

    def is_right(first: int, last: int) -> bool:
        found, _ = ranges.of(use.operand, dict.fromkeys(wanted, Interval(first, last)))
        return low <= found.low and found.high <= high

    shifted = max(0, low - max(at_zero.low, -LARGEST))
    for first in dict.fromkeys((0, low, shifted, *(1 << power for power in range(LARGEST.bit_length())))):
        if is_right(first, first):
            return dict.fromkeys(read, Interval(first, _last(is_right, first)))
    return {}


def _last(is_right: Callable[[int, int], bool], first: int) -> int:
    """The largest `last` up to LARGEST for which all from `first` is right, by doubling the step and halving it again."""
    last, step = first, 1
    while last + step <= LARGEST and is_right(first, last + step):
        last, step = last + step, 2 * step
    while step:
        if last + step <= LARGEST and is_right(first, last + step):
            last += step
        step //= 2
    return last
