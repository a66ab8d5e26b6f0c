"""The ranges of integers in the C text of a truth: an index that stays inside a tensor needs no check."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from .value import Value


def bits(dtype: str) -> int:
    """Of an integer type or bool."""
    return 8 if dtype == "bool" else np.dtype(dtype).itemsize * 8


def combine_ranges(kind: str, a: Value, b: Value) -> tuple[int, int] | None:
    """The range of an integer operation, where it is known and cannot wrap."""
    if kind == "and" and b.range is not None and b.range[0] >= 0:
        return 0, b.range[1]
    if a.range is None or b.range is None or kind not in _ON_ENDS:
        return None
    if kind in ("FloorDiv", "FloorMod") and (b.range[0] <= 0 or a.range[0] < 0):
        return None
    if kind == "FloorMod":
        low, high = 0, min(a.range[1], b.range[1] - 1)
    else:
        ends = [_ON_ENDS[kind](x, y) for x in a.range for y in b.range]
        low, high = min(ends), max(ends)
    limits = np.iinfo(a.dtype) if a.dtype != "bool" else None
    return (low, high) if limits is not None and limits.min <= low and high <= limits.max else None


_ON_ENDS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Max": max, "Min": min, "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
}  # fmt: skip
"""Operations whose range follows from the ends of their operands' ranges."""
