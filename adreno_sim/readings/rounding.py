"""Whether a difference of floats is no more than rounding: the judge of differences that are larger than a type's tolerance.

Where a result is a small difference of large numbers, its last rounding is all there is of it, and any choice that rounds
otherwise moves it. Such a difference is no more than what the launch gives for inputs that differ in their last places. It is
distinguished from a decision, which inputs in their last places may also turn: what rounding moves grows with what moves it, a
decision does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..records import dataclass

SMALL, LARGE = 4, 64
"""Units of the last place by which inputs are moved: a little, and sixteen times as much."""
GROWS = 3.0
"""By this factor at least rounding errors grow from the one to the other. (Sixteen of a smooth function.)"""
_SEEDS = (1, 2)

Nudge = Callable[[np.ndarray], np.ndarray]
"""Makes the contents of an argument out of what it has."""


@dataclass(frozen=True)
class Sensitivity:
    """How far each element of an argument is moved by the last places of the inputs."""

    small: np.ndarray
    large: np.ndarray

    def allowed(self) -> np.ndarray:
        """Returns the error of each element that is rounding; zeros where results do not follow the inputs smoothly."""
        typical = float(np.sqrt(np.mean(np.square(self.small)))) if self.small.size else 0.0
        if not np.isfinite(typical) or not typical or float(self.large.sum()) < GROWS * float(self.small.sum()):
            return np.zeros_like(self.small)
        return np.maximum(self.small, typical)


def nudge_by(units: int, seed: int) -> Nudge:
    """Returns what moves each float by up to `units` of its last place, by chance that `seed` decides. Other types stay."""
    chance = np.random.RandomState(seed)

    def nudge(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind != "f":
            return array
        step = units * np.finfo(array.dtype).eps
        factors = 1.0 + step * chance.uniform(-1.0, 1.0, array.shape)
        with np.errstate(all="ignore"):
            moved: np.ndarray = (array.astype(np.float64) * factors).astype(array.dtype)
        return moved

    return nudge


def measure(run: Callable[[Nudge], dict[int, np.ndarray]], plain: dict[int, np.ndarray]) -> dict[int, Sensitivity]:
    """Returns the sensitivity of each argument of floats. run: what the launch leaves on nudged inputs; plain: on its own."""
    small = [run(nudge_by(SMALL, seed)) for seed in _SEEDS]
    large = run(nudge_by(LARGE, _SEEDS[0]))
    found = {}
    for index, array in plain.items():
        if array.dtype.kind == "f":
            moved = [_distance(one[index], array) for one in small]
            found[index] = Sensitivity(np.maximum(*moved), _distance(large[index], array))
    return found


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        found: np.ndarray = np.abs(a.astype(np.float64) - b.astype(np.float64)).reshape(-1)
    return np.where(np.isfinite(found), found, 0.0)
