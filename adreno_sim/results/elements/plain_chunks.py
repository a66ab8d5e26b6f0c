"""Compares chunks of finite numbers in few passes, each over memory that the processor's cache holds.

Almost every chunk of almost every result is one. `../comparison.py` compares the others, and defines what these figures are.
"""

from __future__ import annotations

import numpy as np

from ...records import dataclass

_LEAST = float(np.finfo(np.float64).tiny)
_FAR = 1 << 61
"""Distances in ulp that are computed exactly; `ulp_distance` saturates above."""


@dataclass(frozen=True)
class ChunkFigures:
    """The figures of one chunk. ratio: the largest error in units of its tolerance; place: the first element that has it."""

    wrong: int
    max_abs: float
    max_ulp: int
    ratio: float
    place: int


def compare_plain(got: np.ndarray, golden: np.ndarray, value: np.ndarray, allowed: np.ndarray, rms: float) -> ChunkFigures | None:
    """Returns the figures of a chunk of floats; None if it holds anything that they do not cover: NaN, infinity, an error that
    may be of any size, signs that differ.

    value: from which errors are measured. allowed: float64, the largest error of each element. rms: the least magnitude of
    `golden` whose distance in ulp counts.
    """
    if not allowed.size:
        return None
    least = float(allowed.min())
    if not 0.0 <= least <= float(allowed.max()) < np.inf:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        error = got.astype(np.float64)
        error -= value
        np.abs(error, out=error)
        max_abs = float(error.max())
        if not max_abs < np.inf:
            return None
        max_ulp = _find_max_ulp(got, golden, rms)
        if max_ulp is None:
            return None
        ratio = error / (allowed if least >= _LEAST else np.maximum(allowed, _LEAST))
    place = int(ratio.argmax())
    largest = float(ratio[place])
    # a quotient below 1 is of a smaller error; one of 1 may have been rounded down to it
    wrong = int(np.count_nonzero(error > allowed)) if largest >= 1.0 or least < _LEAST else 0
    return ChunkFigures(wrong, max_abs, max_ulp, largest, place)


def _find_max_ulp(got: np.ndarray, golden: np.ndarray, rms: float) -> int | None:
    """Returns the largest distance in ulp of finite pairs whose golden value is at least `rms` in magnitude; None if they are not
    all finite, or of one sign. Between numbers of one sign it is the difference of their bits as integers."""
    magnitude = np.abs(golden)
    if not float(magnitude.max()) < np.inf:
        return None
    counts = magnitude >= golden.dtype.type(rms)
    signed = np.dtype(f"i{golden.dtype.itemsize}")
    mine, theirs = got.view(signed), golden.view(signed)
    if bool((((mine ^ theirs) < 0) & counts).any()):
        return None
    distance = mine - theirs
    np.abs(distance, out=distance)
    distance *= counts
    largest = int(distance.max())
    return largest if largest < _FAR else None
