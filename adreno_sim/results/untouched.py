"""Comparing what a call wrote into memory that held nothing before: a cache whose pages it writes in part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .comparison import Comparison, compare
from .expected import Expected


def find_untouched(before: np.ndarray | None, golden: np.ndarray) -> np.ndarray | None:
    """Where an argument held NaN or infinity, and golden leaves it as it was; None for nowhere."""
    if before is None or golden.dtype.kind != "f" or before.dtype != golden.dtype or before.size != golden.size:
        return None
    old = before.reshape(golden.shape)
    finite = np.isfinite(old)
    if finite.all():
        return None
    found = ~finite & (element_bits(old) == element_bits(golden))
    return found if found.any() else None


def compare_touched(got: np.ndarray, expected: Expected, before: np.ndarray | None) -> Comparison:
    """As `compare`, but elements that held nothing and were left alone do not count. before: of the shape of both."""
    untouched = find_untouched(before, expected.array)
    if untouched is None or (element_bits(got)[untouched] != element_bits(expected.array)[untouched]).any():
        return compare(got, expected)
    kept = ~untouched
    part = replace(
        expected,
        array=expected.array[kept],
        value=None if expected.value is None else expected.value[kept],
        allowed=None if expected.allowed is None else expected.allowed[kept],
        others=None if expected.others is None else expected.others[:, kept],
    )
    result = compare(got[kept], part)
    if not result.worst:
        return result
    return replace(result, worst=tuple(int(i) for i in np.argwhere(kept)[result.worst[0]]))


def element_bits(array: np.ndarray) -> np.ndarray:
    """The elements as unsigned integers of the same bits."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
