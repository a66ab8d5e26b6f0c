"""The marker `each_value`: of all combinations of a test's parameters, few run, in which each value of each one occurs.

The other combinations are marked slow. So a test whose parameters are of different kinds (an operator, a target, a level of
checks) says of each value that it is right, and not of each pair of them. A parameter is what one `parametrize` gives, also where
that are several arguments, or a fixture with parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import pytest
from selection.durations import split_id

MARKER = "each_value"

Combination = Mapping[str, Hashable]
"""Parameter -> which one of its values."""


def mark_others_slow(items: Iterable[pytest.Item]) -> None:
    """Mark combinations that need not run as slow; those that are slow already are not chosen."""
    functions: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker(MARKER) and not item.get_closest_marker("slow"):
            functions.setdefault(split_id(item.nodeid), []).append(item)
    for found in functions.values():
        kept = choose_combinations([read_combination(item) for item in found])
        for number, item in enumerate(found):
            if number not in kept:
                item.add_marker(pytest.mark.slow)


def read_combination(item: pytest.Item) -> Combination:
    """The values of a test by the names that each `parametrize` or fixture gives; equal ones of two tests are the same object."""
    params = dict(item.callspec.params)  # type: ignore[attr-defined]
    combination: dict[str, Hashable] = {}
    for mark in item.iter_markers("parametrize"):
        given = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else [*given]
        combination[",".join(names)] = tuple(id(params.pop(name)) for name in names)
    return combination | {name: id(value) for name, value in params.items()}


def choose_combinations(combinations: Sequence[Combination]) -> set[int]:
    """Numbers of few combinations in which all values occur that occur in any. Always the one with most values that have not
    occurred comes next; of several such, the one whose values have occurred least, so that pairs differ."""
    values = [tuple(one.items()) for one in combinations]
    occurred: Counter[tuple[str, Hashable]] = Counter()
    left, kept = list(range(len(values))), set[int]()
    wanted = {value for one in values for value in one}
    while len(occurred) < len(wanted):
        best = min(
            left, key=lambda number: (sum(v in occurred for v in values[number]), sum(occurred[v] for v in values[number]))
        )
        left.remove(best)
        kept.add(best)
        occurred.update(values[best])
    return kept
