"""Softmax over one axis, in the accurate form: the largest value is taken off first."""

from __future__ import annotations

import numpy as np

from .arithmetic import Mode, round_to_storage


def softmax(data: np.ndarray, axis: int, mode: Mode) -> np.ndarray:
    """exp(x) / sum(exp(x)) along `axis`."""
    wide = data.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        return round_to_storage(powers / powers.sum(axis=axis, keepdims=True), mode)
