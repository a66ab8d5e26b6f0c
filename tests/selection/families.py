"""The rule that chooses the complete set: every function runs, and of a large family of items a part.

A family, the items of one function with parameters, executes much the same code again and again. Each function gets 0.7 seconds
and runs as many of its items as fit, at least one, spread over all. The others run with `--slow`, or where a command line names
their file. A family whose items find defects that nothing else finds has the marker `share`, with the seconds that it gets
instead, or without a number for all of its items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
from selection.durations import Durations, split_id
from selection.each_value import Combination, read_combination

SHARE = 0.7
"""Seconds of one function without the marker."""


def draw_families(items: Sequence[pytest.Item], durations: Durations) -> set[str]:
    """The ids of the complete set. Slow tests are in it, and are skipped."""
    families: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            families.setdefault(split_id(item.nodeid), []).append(item)
    kept = {item.nodeid for item in items if item.get_closest_marker("slow")}
    for found in families.values():
        count = count_affordable(len(found), durations.of(found[0].nodeid), read_share(found[0]))
        numbers = draw_combinations([read_combination(item) for item in found], count) if count < len(found) else range(count)
        kept.update(found[number].nodeid for number in numbers)
    return kept


def read_share(item: pytest.Item) -> float:
    """The seconds that the function of `item` gets."""
    marker = item.get_closest_marker("share")
    if marker is None:
        return SHARE
    return float(marker.args[0]) if marker.args else math.inf


def count_affordable(items: int, seconds: float, share: float) -> int:
    """How many of the items of a function, which take `seconds` each, a share pays for; at least one."""
    return items if items * seconds <= share else max(1, int(share / seconds))


def draw_combinations(combinations: Sequence[Combination], count: int) -> set[int]:
    """Numbers of `count` combinations of parameters. Always the one whose values have occurred least comes next; of several such,
    the one that is farthest from those that are chosen."""
    occurred: Counter[object] = Counter()
    left, kept = list(range(len(combinations))), set[int]()

    def rate(number: int) -> tuple[int, int]:
        nearest = min((abs(number - other) for other in kept), default=0)
        return sum(occurred[value] for value in combinations[number].items()), -nearest

    while left and len(kept) < count:
        best = min(left, key=rate)
        left.remove(best)
        kept.add(best)
        occurred.update(combinations[best].items())
    return kept
