"""Marks of memory as bits that are undefined: what launch files say of a byte, and what level full keeps of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .storage import StorageView

ALL = 0xFF
"""Of a byte that nobody has written, or with a value that is undefined."""


def undefined_bits(view: StorageView) -> NDArray[np.uint8] | None:
    """For each byte of a view's elements, in order, those of its bits that are undefined; None if nobody keeps that."""
    marks = view.marks()
    if marks is None:
        return None
    found = np.ascontiguousarray(marks).reshape(-1).view(np.uint8) - np.uint8(1)  # 0, nobody has written it, becomes ALL
    found[found == _UNDEFINED - 1] = ALL
    return found


def find_undefined(view: StorageView) -> NDArray[np.uint8]:
    """The same where nobody keeps it, too: 32 bits that still are the pattern of fresh memory, or a copy of it, count as
    undefined."""
    known = undefined_bits(view)
    if known is not None:
        return known
    return np.ascontiguousarray(view.elements_in(view.block.find_fresh())).reshape(-1).view(np.uint8)


def set_undefined_bits(view: StorageView, bits: NDArray[np.uint8]) -> None:
    """Say of each byte of a view's elements which of its bits are undefined, where that is kept."""
    marks = view.marks()
    if marks is not None:
        marks[...] = (bits + np.uint8(1)).view(marks.dtype).reshape(marks.shape)
        view.block.forget()


_UNDEFINED = 0xAB
"""The mark of a byte with a value that is undefined as a whole (`engine.shadow.init_shadow`)."""
