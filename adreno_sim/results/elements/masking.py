"""Tells masked elements from the others: attention scores that a mask sets to minus infinity, or far below every score."""

from __future__ import annotations

import numpy as np

LEAST_MASK = 1e4
"""Models mask with -1e4, -65504, -1e9, the smallest float or minus infinity."""

FAR = 100.0
"""How many times larger than all that is not masked a mask is: results that merely range widely have no such gap."""

LEAST_LEFT = 0.05
"""Share of the elements that must be left for the rest to say something."""


def unmasked(flat: np.ndarray) -> np.ndarray:
    """The elements that no mask has set; all of them if there is no mask. An overflow is not a mask: the others reach far too."""
    if flat.dtype.kind != "f" or not flat.size:
        return flat
    masked = flat <= -LEAST_MASK
    count = int(np.count_nonzero(masked))
    if not count or flat.size - count < max(2.0, LEAST_LEFT * flat.size):
        return flat
    rest = flat[~masked]
    smallest = min(float(-flat[masked].max()), float(np.finfo(flat.dtype).max))
    return rest if FAR * float(np.abs(rest).max()) <= smallest else flat
