"""Pointers of a vector of work-items."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.provenance import Ptr

LaneOffsets = tuple[int, ...]
"""One number per lane: by how much a lane's value is more than lane 0's."""


@dataclass(frozen=True)
class LanePtr:
    """Where each lane of a pointer is: `pointer`, plus a pattern of bytes, plus `index` (a vector) steps of `stride` bytes."""

    pointer: Ptr
    lane_offsets: LaneOffsets
    index: str | None = None
    bits: int = 64
    stride: int = 1

    @property
    def uniform(self) -> bool:
        return self.index is None and not any(self.lane_offsets)
