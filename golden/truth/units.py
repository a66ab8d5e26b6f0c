"""The float types that a device rounds to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...device.protocol import DeviceInfo
from ...records import dataclass
from .value import DIGITS, FLOATS

WIDE = "wide"
"""A double that is judged as a float of 32 digits. Its errors must be 2^-8 of those of a float; as it has 53 digits, neither
another order of operations nor cancellation takes the 21 that are between."""

_DIGITS = {**DIGITS, WIDE: 32}
_LARGEST_EXPONENT = {"float16": 16, "bfloat16": 128, "float32": 128, "float64": 1024, WIDE: 1024}


class Unit(NamedTuple):
    """How one float type is rounded to: the C text's Unit, field by field, where each is explained (`prelude.c`)."""

    rel: float
    floor: float
    half_largest: float
    largest: float
    flushed: float
    half: float
    lost: float


@dataclass(frozen=True)
class Units:
    """How a device rounds. half_as, float_as: the types that it computes values of these types in (wider ones in a twin).

    flushes: it may take denormal numbers for zero.
    """

    half_as: str = "float16"
    flushes: bool = True
    float_as: str = "float32"

    @classmethod
    def of_device(cls, info: DeviceInfo) -> Units:
        """A real device may flush; a simulated one as its profile says."""
        return cls(flushes=info.profile is None or info.profile.flush_denormals)

    def table(self) -> np.ndarray:
        """A row for each of FLOATS, as the C text's Unit."""
        return np.array([self.unit_of(name) for name in FLOATS])

    def unit_of(self, dtype: str) -> Unit:
        """How a value of numpy type `dtype` is rounded."""
        return self._make_unit(self._computed_as(dtype))

    def flushed_below(self, dtype: str) -> float:
        """The magnitude below which a device may take a number of numpy type `dtype` for zero; 0 = it takes none."""
        if not self.flushes or dtype not in FLOATS:
            return 0.0
        return 2.0 ** (2 - _LARGEST_EXPONENT[self._computed_as(dtype)])

    def dtype_of(self, dtype: str) -> str:
        """What a tensor of numpy type `dtype` holds on the device, as a numpy type."""
        found = self._computed_as(dtype)
        return "float64" if found == WIDE else found

    def _computed_as(self, dtype: str) -> str:
        return {"float16": self.half_as, "float32": self.float_as}.get(dtype, dtype)

    def _make_unit(self, name: str) -> Unit:
        digits, top = _DIGITS[name], _LARGEST_EXPONENT[name]
        roundoff = 2.0**-digits
        smallest = 2 - top  # exponent of the smallest normal number
        step = 2.0 ** max(smallest - digits, -500)  # half the distance of denormal numbers
        largest = float(np.ldexp(1 - 2.0 ** -(digits + 1), min(top, 1023)))  # what is smaller is not rounded to infinity
        flushed = 2.0 ** (smallest + 1) if self.flushes else 0.0
        return Unit(roundoff**2 / 3, step**2 / 3, largest / 2, largest, flushed, float(name == "float16"), (flushed / 16) ** 2)
