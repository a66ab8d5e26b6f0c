"""Tiles: the work-items of a group that are the lanes of one vector. A tile is a small box of local ids, as wide along x as
the group allows."""

from __future__ import annotations

from ...records import dataclass
from ..abi.specialization import Specialization
from ..emit.check import NotVectorizable
from ..emit.pointers import LaneOffsets


@dataclass(frozen=True)
class Tile:
    """`size` work-items along x, y, z make up one vector. Lane numbers grow along x first, then y, then z."""

    size: tuple[int, int, int]

    @property
    def lanes(self) -> int:
        x, y, z = self.size
        return x * y * z

    def lane_offsets(self, axis: int) -> LaneOffsets:
        """Returns the local id of each lane along `axis`, relative to lane 0's."""
        x, y, _ = self.size
        inner = (1, x, x * y)[axis]
        return tuple(lane // inner % self.size[axis] for lane in range(self.lanes))

    def count(self, local: tuple[int, int, int]) -> tuple[int, int, int]:
        """Returns the number of tiles along each axis of a group."""
        x, y, z = (-(-whole // part) for whole, part in zip(local, self.size, strict=True))
        return x, y, z

    def divides(self, local: tuple[int, int, int]) -> bool:
        """Returns whether tiles fill a group exactly, so that every lane is a work-item."""
        return all(whole % part == 0 for whole, part in zip(local, self.size, strict=True))


def choose_tile(spec: Specialization, choices: tuple[int, ...]) -> Tile:
    """Returns the tile of a launch. Raises NotVectorizable if most lanes would be idle."""
    for lanes in choices:
        tile = dividing_tile(spec.local_size, lanes)
        if tile.divides(spec.local_size):
            return tile
    if spec.items < 4:
        raise NotVectorizable(f"a group of {spec.items} work-items")
    lanes = choices[-1] if spec.items <= choices[-1] else choices[0]
    return _covering_tile(spec.local_size, lanes)


def dividing_tile(local: tuple[int, int, int], lanes: int) -> Tile:
    """Returns a tile of powers of two that divide the group, x first. Missing lanes go to x."""
    size, left = [1, 1, 1], lanes
    for axis in range(3):
        size[axis] = min(left, local[axis] & -local[axis])
        left //= size[axis]
    return Tile((size[0] * left, size[1], size[2]))


def _covering_tile(local: tuple[int, int, int], lanes: int) -> Tile:
    """Returns a tile of powers of two that cover the group's extents, x first."""
    size, left = [1, 1, 1], lanes
    for axis in range(3):
        size[axis] = min(left, 1 << (local[axis] - 1).bit_length())
        left //= size[axis]
    return Tile((size[0] * left, size[1], size[2]))
