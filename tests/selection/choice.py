"""The rule that chooses the fast set: what `pytest` runs where nobody names a test or asks for all.

Each function gets half a second, and runs as many of its items as fit, evenly spaced over its parameters, at least one. Functions
come in order of the seconds that one item takes, until the budget is spent; those marked `representative` come first. So the fast
set takes the same time however many tests are added, and what it leaves out is what takes longest for one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selection.durations import Durations, split_id

BUDGET = 232.0
"""Seconds of all tests of the fast set together, by the mean of each function where all tests run. Alone they take nearly twice
that, for what the first one of a file or a process makes for all: fixtures, imports, compiled code."""

SHARE = 0.5
"""Seconds of one function."""


def choose(nodes: Sequence[str], durations: Durations, representative: set[tuple[str, str]], budget: float = BUDGET) -> set[str]:
    """The ids of the fast set among the ids `nodes`."""
    functions: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        functions.setdefault(split_id(node), []).append(node)
    cost = {function: durations.of(found[0]) for function, found in functions.items()}
    kept: set[str] = set()
    for function in sorted(functions, key=lambda function: (function not in representative, cost[function], function)):
        chosen = take_share(functions[function], cost[function])
        budget -= len(chosen) * cost[function]
        if budget < 0 and function not in representative:
            break
        kept.update(chosen)
    return kept


def take_share(nodes: Sequence[str], seconds: float) -> list[str]:
    """As many of a function's items as its share pays for, evenly spaced; the first one is among them."""
    if len(nodes) * seconds <= SHARE:
        return list(nodes)
    count = max(1, int(SHARE / seconds))
    return [nodes[index * len(nodes) // count] for index in range(count)]


def split_files(nodes: Sequence[str], durations: Durations, parts: int) -> list[set[str]]:
    """The files of `nodes` in `parts` groups of about the same seconds: the longest file first, always to the shortest group."""
    groups: list[set[str]] = [set() for _ in range(parts)]
    taken = [0.0] * parts
    for file, seconds in sort_files(nodes, durations).items():
        shortest = taken.index(min(taken))
        groups[shortest].add(file)
        taken[shortest] += seconds
    return groups


def sort_files(nodes: Sequence[str], durations: Durations) -> Mapping[str, float]:
    """File -> seconds of its tests among `nodes`, the longest first. A test of which nothing is known takes a hundredth."""
    seconds: dict[str, float] = {}
    for node in nodes:
        file, _ = split_id(node)
        seconds[file] = seconds.get(file, 0.0) + max(0.01, durations.of(node))
    return dict(sorted(seconds.items(), key=lambda entry: (-entry[1], entry[0])))
