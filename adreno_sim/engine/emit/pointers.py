"""Pointers that differ between the lanes of a vector."""

from __future__ import annotations

from ...ir.provenance import Ptr
from ...records import dataclass

LaneOffsets = tuple[int, ...]
"""One number per lane: the difference of the lane's value from lane 0's."""


@dataclass(frozen=True)
class LanePtr:
    """The address of each lane: `pointer`, plus its lane offset in bytes, plus `index` (a vector) times `stride` bytes."""

    pointer: Ptr
    lane_offsets: LaneOffsets
    index: str | None = None
    bits: int = 64
    stride: int = 1

    @property
    def uniform(self) -> bool:
        return self.index is None and not any(self.lane_offsets)
