"""How a value differs between lanes."""

from __future__ import annotations

from typing import NamedTuple

from ..emit.pointers import LaneOffsets


class LaneShape(NamedTuple):
    """`lane_offsets`: each lane's difference from lane 0; None if it varies. Lane 0's value is `rest` modulo `modulus` (0:
    exactly `rest`)."""

    lane_offsets: LaneOffsets | None
    modulus: int = 1
    rest: int = 0

    @property
    def uniform(self) -> bool:
        return self.lane_offsets is not None and not any(self.lane_offsets)


VARYING = LaneShape(None)


def congruence(modulus: int, rest: int) -> tuple[int, int]:
    return modulus, rest % modulus if modulus else rest
