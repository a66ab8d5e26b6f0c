"""Tokens of distributions by uniform numbers: the first at which the sum of probabilities is above the number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....results.expected import SIGMAS
from ..run import OutOfRange, Truth
from ..units import Units
from .operator import Operator
from .scanning import scan_sum

SLACK = 1e-6
"""How far below the number TVM's kernel lets a sum be."""

MOST_TOKENS = 64
"""Tokens that rounding may choose from; where they are more, nothing is known."""


def compute_multinomial(_operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """A token for each number: a row of the distributions says which are its probabilities.

    A token without probability is never right, except for the last one if the number is above the whole sum. Raises OutOfRange
    for a row that is none.
    """
    prob, numbers, rows = given
    count = prob.value.shape[0]
    wrong = rows.value[(rows.value < 0) | (rows.value >= count)]
    if wrong.size:
        raise OutOfRange(f"multinomial_from_uniform from {count} distributions: {int(wrong[0])} is not a row of these")
    sums = scan_sum(prob, -1, kinds[0], units)
    assert sums.sigma is not None
    reach = SIGMAS * sums.sigma.astype(np.float64) + SLACK
    tokens = [
        _tokens(prob.value[row] > 0, sums.value[row], reach[row] + off, number)
        for row, number, off in zip(rows.value.reshape(-1), numbers.value.reshape(-1), _errors_of(numbers, rows), strict=True)
    ]
    value = np.array([found[0] if found else 0 for found in tokens], kinds[-1]).reshape(numbers.value.shape)
    unknown = np.array([not found or len(found) > MOST_TOKENS for found in tokens]).reshape(value.shape)
    most = min(max(map(len, tokens), default=1), MOST_TOKENS)
    others = np.array([[(found or [0])[min(k, len(found or [0]) - 1)] for found in tokens] for k in range(1, most)], kinds[-1])
    sigma = np.where(unknown, np.float32(np.inf), np.float32(0)) if unknown.any() else None
    return [Truth(value, sigma, others=others.reshape(-1, *value.shape) if most > 1 else None)]


def _tokens(possible: np.ndarray, sums: np.ndarray, reach: np.ndarray, number: float) -> list[int]:
    """The tokens that are right, the likeliest first; none if a probability is not a number. reach: how far off sums may be."""
    if not np.isfinite(sums).all() or not np.isfinite(reach).all() or not np.isfinite(number):
        return []
    last = len(sums) - 1
    places = np.flatnonzero(possible)
    if not places.size:
        return [last]
    before = np.concatenate([[-np.inf], (sums - reach)[places[:-1]]])
    found = places[(sums + reach >= number)[places] & (before <= number)].tolist()
    if number >= sums[last] - reach[last]:
        found += [int(places[-1]), last]
    likeliest = places[min(int(np.searchsorted(sums[places], number, "right")), places.size - 1)]
    return list(dict.fromkeys([int(likeliest), *found]))


def _errors_of(numbers: Truth, rows: Truth) -> np.ndarray:
    """How far off each number may be; inf where its row is not known."""
    errors = np.zeros(numbers.value.size) if numbers.sigma is None else SIGMAS * numbers.sigma.astype(np.float64).reshape(-1)
    return errors if rows.sigma is None else np.where(rows.sigma.reshape(-1) > 0, np.inf, errors)
