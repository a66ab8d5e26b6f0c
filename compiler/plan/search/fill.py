"""Several storages of a largest size filled one after the other, by first fit."""

from __future__ import annotations

import numpy as np

from .instance import Instance, Ints
from .scan import place_by_scanning


def fill_storages(instance: Instance, order: Ints, room: int) -> tuple[Ints, Ints]:
    """(storage, offset) of every item: in `order`, at the lowest offset of the first storage that holds it in `room` units.

    No item may be larger than `room`.
    """
    storage_of, offsets = np.full(len(instance), -1, np.int64), np.zeros(len(instance), np.int64)
    left, number = order, 0
    while left.size:
        placed = place_by_scanning(instance, left, room)
        inside = left[placed[left] >= 0]
        storage_of[inside], offsets[inside] = number, placed[inside]
        left, number = left[placed[left] < 0], number + 1
    return storage_of, offsets
