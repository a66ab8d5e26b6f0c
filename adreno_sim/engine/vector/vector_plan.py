"""What all regions of a kernel in vectors share."""

from __future__ import annotations

from dataclasses import field

from ...records import dataclass
from ..emit.kernel_plan import KernelPlan
from .lane_shapes import LaneShapes
from .privates import Privates
from .tile import Tile


@dataclass
class VectorPlan(KernelPlan):
    """The plan of a kernel, and what its lanes are."""

    tile: Tile = field(kw_only=True)
    shapes: LaneShapes = field(kw_only=True)
    privates: Privates = field(kw_only=True)

    @property
    def lanes(self) -> int:
        return self.tile.lanes
