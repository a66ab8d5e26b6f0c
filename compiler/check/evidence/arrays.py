"""What a report says of arrays that it does not hold."""

from __future__ import annotations

import hashlib

import numpy as np

from ....results.model import InputReport


def describe_input(name: str, array: np.ndarray, origin: str) -> InputReport:
    rms = float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.size else 0.0
    return InputReport(name, array.shape, array.dtype.name, origin, rms)


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
