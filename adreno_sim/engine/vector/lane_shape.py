"""How a value differs between lanes, and where addresses lie so that one access serves all of them."""

from __future__ import annotations

from typing import NamedTuple

from ...base.integers.congruence import ANY, Congruence
from ..emit.pointers import LaneOffsets
from ..llvm import objects

DENSE = 16
"""Bytes from one lane's element to the next's up to which a row is loaded whole."""
REGISTER = 64
"""Bytes of the widest vector of a processor that stores some bytes of it."""


class LaneShape(NamedTuple):
    """`lane_offsets`: each lane's difference from lane 0; None if it varies. `first`: the known limits of lane 0's value."""

    lane_offsets: LaneOffsets | None
    first: Congruence = ANY

    @property
    def uniform(self) -> bool:
        return self.lane_offsets is not None and not any(self.lane_offsets)

    @property
    def number(self) -> int | None:
        """The number that all lanes hold, where it is known."""
        return self.first.number if self.uniform else None


VARYING = LaneShape(None)


def row_step(offsets: LaneOffsets, size: int, count: int) -> int | None:
    """Returns the elements from one lane's to the next's if the lanes form a row dense enough to be loaded whole; else None."""
    step, rest = divmod(offsets[1] - offsets[0], size)
    if rest or not count <= step <= max(4, DENSE // size):
        return None
    if any(p != lane * step * size for lane, p in enumerate(offsets)):
        return None
    return step


def stored_step(offsets: LaneOffsets, size: int, count: int) -> int | None:
    """Returns `row_step` of a row that one instruction stores; else None."""
    step = row_step(offsets, size, count)
    if step is None or step == count or size >= 4:
        return step
    fits = len(offsets) * step * size <= REGISTER
    return step if fits and objects.machine().processor.masks_bytes else None


def row_order(offsets: LaneOffsets, size: int) -> list[int] | None:
    """Returns the lanes in the order of memory, if together they fill a row and each has a separate place; else None."""
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    low = offsets[order[0]]
    return order if all(offsets[lane] == low + at * size for at, lane in enumerate(order)) else None


def shared_width(offsets: LaneOffsets, size: int, count: int) -> int | None:
    """Returns the elements, a power of two, in which all lie that the lanes access, if they are no more than lanes; else None."""
    low, high = min(offsets), max(offsets)
    width = 1 << ((high - low) // size + count - 1).bit_length()
    return width if width <= len(offsets) and not any((offset - low) % size for offset in offsets) else None
