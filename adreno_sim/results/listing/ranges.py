"""Which of many things in a row: as a few ranges in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_SHOWN = 3
"""Ranges that are spelled out."""


def find_ranges(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and last place of each run of true elements."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return [(int(first), int(end) - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def describe_ranges(word: str, mask: NDArray[np.bool_], start: int = 0) -> str:
    """The true elements of a mask, "bytes 16 to 31, 48 to 63 and 2 more ranges" of `word` "byte". start: number of the first."""
    found = find_ranges(mask)
    shown = ", ".join(str(a + start) if a == b else f"{a + start} to {b + start}" for a, b in found[:MOST_SHOWN])
    more = len(found) - MOST_SHOWN
    plural = "" if len(found) == 1 and found[0][0] == found[0][1] else "s"
    return f"{word}{plural} {shown}" + (f" and {more} more range{'' if more == 1 else 's'}" if more > 0 else "")
