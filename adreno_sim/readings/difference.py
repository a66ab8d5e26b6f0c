"""What two readings of one launch leave, beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from ..records import dataclass
from ..results.comparison import compare, tolerated
from ..results.expected import Expected

Arrays = dict[int, np.ndarray]

_PIXEL, _LEVELS = 2, 16
"""The most bytes of an integer that is a float's level, and how far apart at least such levels reach."""


@dataclass(frozen=True)
class Judging:
    """How arguments are compared, by position. tolerances: of a launch file, relative. normalized: images of integers that stand
    for floats; one step of them is within the error that a conversion may have. rounds: says whether the kernel makes integers
    of floats, for which it needs the kernel's body."""

    tolerances: Mapping[int, float] = field(default_factory=dict)
    normalized: frozenset[int] = frozenset()
    rounds: Callable[[], bool] = bool

    def allow(self, index: int, golden: np.ndarray) -> np.ndarray:
        """Returns the error that each element of an argument may have by its type."""
        if golden.dtype.kind == "f":
            return tolerated(golden)
        stands_for_float = index in self.normalized or (_has_levels(golden) and self.rounds())
        return np.full(golden.shape, float(stands_for_float))


@dataclass(frozen=True)
class ReadingDifference:
    """One argument in which two readings differ. index: of the worst element; present, other: what is there; wrong, elements: how
    many differ, of how many."""

    argument: int
    index: int
    present: float
    other: float
    wrong: int
    elements: int


def _has_levels(golden: np.ndarray) -> bool:
    """Returns whether integers are as pixels are: short, with a range of values. A flag or a small count is none."""
    if golden.dtype.kind not in "iu" or golden.dtype.itemsize > _PIXEL or not golden.size:
        return False
    return int(golden.max()) - int(golden.min()) >= _LEVELS


def find_differences(
    present: Arrays, other: Arrays, judging: Judging, rounding: Mapping[int, np.ndarray] | None = None
) -> list[ReadingDifference]:
    """Returns the arguments that differ by more than their tolerance. rounding: what of each element's error is rounding."""
    found = []
    for index, array in present.items():
        golden = array.reshape(-1)
        tolerance = judging.tolerances.get(index)
        expected = Expected(golden)
        if tolerance is None:
            allowed = judging.allow(index, golden)
            if rounding is not None and index in rounding:
                allowed = np.maximum(allowed, rounding[index])
            expected = Expected(golden, allowed=allowed)
        result = compare(other[index].reshape(-1), expected, tolerance)
        if not result.ok:
            worst = result.worst[0] if result.worst else 0
            found.append(ReadingDifference(index, worst, result.golden, result.got, result.wrong, result.elements))
    return found
