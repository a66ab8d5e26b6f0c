"""What a tensor should hold: its value without rounding, and how far rounding may take each element from it."""

from __future__ import annotations

import numpy as np

from ..records import dataclass

SIGMAS = 8.0
"""Standard deviations of rounding that are allowed (docs/judging.md has the model and how often a right result exceeds it)."""


@dataclass(frozen=True)
class Expected:
    """One result of a reference. array: in the tensor's own type and shape.

    value: float64, without rounding; None = `array` is all there is, and its type's tolerance judges. allowed: the largest error
    of each element, inf where it is unknown; None = none for integers, for floats their type's tolerance.
    unsure: decisions on control flow that rounding may turn. others: arrays like `array`, stacked: what their elements are is
    right too.
    """

    array: np.ndarray
    value: np.ndarray | None = None
    allowed: np.ndarray | None = None
    unsure: int = 0
    others: np.ndarray | None = None

    def reshape(self, shape: tuple[int, ...]) -> Expected:
        value, allowed = (None if part is None else part.reshape(shape) for part in (self.value, self.allowed))
        others = None if self.others is None else self.others.reshape(-1, *shape)
        return Expected(self.array.reshape(shape), value, allowed, self.unsure, others)


def round_off(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The largest error of one rounding of each element to a float type: half a unit in the last place, also of small numbers."""
    limits = np.finfo(dtype)
    with np.errstate(invalid="ignore"):
        magnitude = np.where(np.isfinite(value), np.abs(value), 0.0)
    return np.maximum(magnitude * (float(limits.eps) / 2), float(limits.smallest_subnormal) / 2)
