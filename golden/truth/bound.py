"""How far a device's result may be from the truth: rounding as a random walk, and as halves are seen to drift."""

from __future__ import annotations

import numpy as np

from ...results.expected import SIGMAS, Expected, round_off
from .run import Truth
from .units import Units

DRIFTS = 4.0
"""How often the error of the PrimFunc's own order in halves is allowed: sums of halves drift and stagnate, which no random walk
does."""


def expect(truth: Truth, dtype: str, units: Units, drift: bool = True) -> Expected:
    """What a device's result of `dtype` should be, and its largest error.

    drift: results that halves give count; not where a device computes them wider (a twin).
    """
    kind = np.dtype(dtype)
    if kind.kind != "f":
        allowed = None if truth.sigma is None else SIGMAS * truth.sigma.astype(np.float64)
        return Expected(truth.value.astype(kind, copy=False), None, allowed, truth.unsure)
    with np.errstate(over="ignore"):
        array = truth.value.astype(kind)
    tiny = np.abs(truth.value) < np.finfo(kind).smallest_normal if units.flushes else False
    floor = np.where(tiny, np.abs(truth.value), 0.0)
    if truth.sigma is None:
        return Expected(array, truth.value, floor, truth.unsure)
    spread = SIGMAS * truth.sigma.astype(np.float64)
    if drift and truth.native is not None:
        with np.errstate(invalid="ignore"):
            drifts = DRIFTS * pool_errors(truth.native - truth.value, truth.sigma)
        spread = np.fmax(spread, drifts)
    return Expected(array, truth.value, spread + round_off(truth.value, kind) + floor, truth.unsure)


def pool_errors(error: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """For each element, the root mean square of the errors of all elements with about its sigma (within a factor of two to four).

    A single error may be small by chance; elements with one sigma drift alike, whichever channel they belong to.
    """
    flat = error.reshape(-1)
    known = np.isfinite(flat) & np.isfinite(sigma.reshape(-1)) & (sigma.reshape(-1) > 0)
    result = np.zeros(flat.shape)
    if not known.any():
        return result.reshape(error.shape)
    octave = np.floor(np.log2(sigma.reshape(-1)[known].astype(np.float64))).astype(np.int64)
    octave -= octave.min() - 1
    counts = np.bincount(octave, minlength=octave.max() + 2).astype(np.float64)
    squares = np.bincount(octave, np.square(flat[known]), minlength=octave.max() + 2)
    width = np.ones(3)
    pooled = np.convolve(squares, width, "same") / np.maximum(np.convolve(counts, width, "same"), 1)
    result[known] = np.sqrt(pooled[octave])
    return result.reshape(error.shape)
