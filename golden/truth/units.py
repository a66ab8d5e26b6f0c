"""The float types that a device rounds to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .value import FLOATS

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST_EXPONENT = {"float16": 16, "bfloat16": 128, "float32": 128, "float64": 1024}


@dataclass(frozen=True)
class Units:
    """How a device rounds. half_as: the type that it computes half values in ("float32" in a wide twin).

    flushes: types whose denormal numbers it may take for zero.
    """

    half_as: str = "float16"
    flushes: tuple[str, ...] = ("float32",)

    def table(self) -> np.ndarray:
        """For each of FLOATS: relative variance, least variance, half of the largest number, the largest number."""
        return np.array([self._row(self.half_as if name == "float16" else name) for name in FLOATS])

    def _row(self, name: str) -> tuple[float, float, float, float]:
        digits, top = _DIGITS[name], _LARGEST_EXPONENT[name]
        roundoff = 2.0**-digits
        smallest = 3 - top  # exponent of the smallest normal number, in [0.5, 1) x 2**e
        step = 2.0 ** max(smallest - 1 if name in self.flushes else smallest - digits - 1, -500)
        largest = float(np.ldexp(1 - 2.0**-digits, top))
        return roundoff**2 / 3, step**2 / 3, largest / 2, largest
