"""A small linear programme, solved in floating point for its dual multipliers only. The caller derives an exact bound from
them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

_PIVOTS = 60
_TINY = 1e-9


def dual_multipliers(
    objective: Sequence[int], rows: Sequence[tuple[Sequence[int], int]], bounds: Sequence[tuple[int, int]]
) -> list[Fraction]:
    """Returns non-negative factors of the rows that give the best upper bound of the objective (dual simplex, box bounds).

    The problem is: maximise objective . x, where coefficients . x <= limit for each row (coefficients, limit), and low <= x
    <= high. The simplex starts in the corner of the box that maximises the objective. Rounding may make the bound worse,
    never wrong: any non-negative factors give a valid bound.
    """
    price = np.array(objective, float)
    matrix = np.array([r for r, _ in rows], float)
    low, high = np.array(bounds, float).T
    liked = price > 0
    corner = np.where(liked, high, low)
    sign = np.where(liked, -1.0, 1.0)
    count, width = matrix.shape
    table = np.zeros((count + width + 1, width + 1))
    table[:count, :width] = matrix * sign
    table[:count, width] = np.array([limit for _, limit in rows], float) - matrix @ corner
    table[count:-1, :width] = np.eye(width)
    table[count:-1, width] = high - low
    table[-1, :width] = price * sign  # all <= 0: the corner is best if it is allowed
    owners = list(range(-1, -width - 1, -1))  # what each column holds: -1 - variable, or a row's number
    basis = list(range(count + width))
    for _ in range(_PIVOTS):
        row = int(np.argmin(table[:-1, width]))
        if table[row, width] >= -_TINY * (1.0 + abs(table[row, :width]).max()):
            break
        usable = table[row, :width] < -_TINY
        if not usable.any():
            break
        ratio = np.where(usable, -table[-1, :width], np.inf) / np.where(usable, -table[row, :width], 1.0)
        column = int(np.argmin(ratio))
        _pivot(table, row, column)
        owners[column], basis[row] = basis[row], owners[column]
    found = [Fraction(0)] * count
    for column, owner in enumerate(owners):
        if 0 <= owner < count:
            found[owner] = max(Fraction(0), Fraction(-float(table[-1, column])).limit_denominator(1 << 12))
    return found


def _pivot(table: np.ndarray, row: int, column: int) -> None:
    """Exchanges the variable of `column` with the slack of `row`."""
    pivot = table[row, column]
    line = table[row] / pivot
    line[column] = 1.0 / pivot
    factors = table[:, column].copy()
    table -= np.outer(factors, line)
    table[:, column] = -factors / pivot
    table[row] = line
