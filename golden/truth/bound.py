"""How far a device's result may be from the truth: rounding as a random walk, and as halves are seen to drift."""

from __future__ import annotations

import numpy as np

from ...results.expected import SIGMAS, Expected, round_off
from .run import Truth
from .units import Units

DRIFTS = 4.0
"""How often the error of the PrimFunc's own order in halves is allowed: sums of halves drift and stagnate, which no random walk
does."""

FEWEST = 16
"""Elements of one sigma and one magnitude that tell how these drift."""


def expect(truth: Truth, dtype: str, units: Units, drift: bool = True) -> Expected:
    """What a device's result of `dtype` should be, and its largest error.

    drift: results that halves give count; not where a device computes them wider (a twin).
    """
    kind = np.dtype(dtype)
    if kind.kind != "f":
        allowed = None if truth.sigma is None else SIGMAS * truth.sigma.astype(np.float64)
        return Expected(truth.value.astype(kind, copy=False), None, allowed, truth.unsure, truth.others)
    with np.errstate(over="ignore"):
        array = truth.value.astype(kind)
        others = None if truth.others is None else truth.others.astype(kind)
    tiny = np.abs(truth.value) < np.finfo(kind).smallest_normal if units.flushes else False
    floor = np.where(tiny, np.abs(truth.value), 0.0)
    if truth.sigma is None:
        return Expected(array, truth.value, floor, truth.unsure, others)
    spread = SIGMAS * truth.sigma.astype(np.float64)
    if drift and truth.native is not None:
        with np.errstate(invalid="ignore"):
            drifts = drift_of(truth.native - truth.value, truth.value, truth.sigma)
        spread = np.fmax(spread, drifts)
    return Expected(array, truth.value, spread + round_off(truth.value, kind) + floor, truth.unsure, others)


def drift_of(error: np.ndarray, value: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """How far halves may drift, by the errors of the PrimFunc's own order: DRIFTS times the root mean square of errors alike, and
    never less than an element's own.

    A single error may be small by chance; elements with one sigma drift alike, whichever channel they belong to. Those of one
    sigma and one magnitude do so more: where small numbers are flushed, most elements of a softmax have the sigma of the others
    and none of their drift.
    """
    flat, size, spread = error.reshape(-1), np.abs(value.reshape(-1)), sigma.reshape(-1).astype(np.float64)
    known = np.isfinite(flat) & np.isfinite(spread) & (spread > 0)
    result = np.zeros(flat.shape)
    if not known.any():
        return result.reshape(error.shape)
    squares = np.square(flat[known])
    by_sigma = _octaves(spread[known])
    by_size = _octaves(np.maximum(size[known], spread[known]))  # what is smaller than its sigma has no magnitude
    pooled = np.maximum(_pool(squares, by_sigma, np.zeros_like(by_size), 1), _pool(squares, by_sigma, by_size, FEWEST))
    result[known] = np.maximum(DRIFTS * np.sqrt(pooled), np.abs(flat[known]))
    return result.reshape(error.shape)


def _octaves(positive: np.ndarray) -> np.ndarray:
    """Whole powers of two, the smallest 1."""
    octave = np.floor(np.log2(positive)).astype(np.int64)
    return octave - octave.min() + 1


def _pool(squares: np.ndarray, first: np.ndarray, second: np.ndarray, fewest: int) -> np.ndarray:
    """The mean of the squares of all elements in the same or a neighbouring place of a table, for each element; 0 where they are
    less than `fewest`."""
    shape = (int(first.max()) + 2, int(second.max()) + 2)
    place = np.ravel_multi_index((first, second), shape)
    sums = [np.bincount(place, weight, shape[0] * shape[1]).reshape(shape) for weight in (squares, np.ones(squares.size))]
    for axis in (0, 1):
        sums = [table + _shift(table, 1, axis) + _shift(table, -1, axis) for table in sums]
    return np.where(sums[1] >= fewest, sums[0] / np.maximum(sums[1], 1), 0).reshape(-1)[place]


def _shift(table: np.ndarray, by: int, axis: int) -> np.ndarray:
    """`table` moved by one place, zeros moved in."""
    moved = np.roll(table, by, axis)
    moved[(slice(None),) * axis + (0 if by > 0 else -1,)] = 0
    return moved
