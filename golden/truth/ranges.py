"""The ranges of integers in the C text of a truth: an index that stays inside a tensor needs no check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.integers.interval import Interval
from .value import Value


def bits(dtype: str) -> int:
    """Of an integer type or bool."""
    return 8 if dtype == "bool" else np.dtype(dtype).itemsize * 8


def combine_ranges(kind: str, a: Value, b: Value) -> Interval | None:
    """The range of an integer operation, where it is known and cannot wrap."""
    if kind == "and" and b.range is not None and b.range.low >= 0:
        return Interval(0, b.range.high)
    if a.range is None or b.range is None or kind not in _RULES:
        return None
    found = _RULES[kind](a.range, b.range)
    return found if found is not None and a.dtype != "bool" and range_of_type(a.dtype).holds(found) else None


def range_of_type(dtype: str) -> Interval:
    """The numbers that an integer type holds."""
    limits = np.iinfo(dtype)
    return Interval(int(limits.min), int(limits.max))


_RULES: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "Add": Interval.plus, "Sub": Interval.minus, "Mul": Interval.times, "Max": Interval.maximum, "Min": Interval.minimum,
    "FloorDiv": Interval.floor_quotient, "FloorMod": lambda a, b: a.remainder(b) if a.low >= 0 else None,
}  # fmt: skip
"""Operations whose range follows from those of their operands."""
