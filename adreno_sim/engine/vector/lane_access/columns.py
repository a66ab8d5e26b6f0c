"""What the strided loads of a region keep: columns that were loaded early, and loops that are to be unrolled along rows."""

from __future__ import annotations

from ..structure import Loop
from .strided_loads import StridedLoads

_MOST_BYTES = 16 << 10
"""Bytes of all columns of a region. They are on the worker's stack, and should stay in the nearest cache."""


class Columns:
    """The columns of one region. loads: which of its loads are strided."""

    def __init__(self, loads: StridedLoads):
        self.loads = loads
        self._bytes = 0
        self._rounds: dict[Loop, int] = {}

    def reserve(self, nbytes: int) -> bool:
        """Takes room for columns. Returns False if there is none left."""
        if self._bytes + nbytes > _MOST_BYTES:
            return False
        self._bytes += nbytes
        return True

    def note_rounds(self, loop: Loop, rounds: int) -> None:
        """Notes for how many iterations of a loop columns are loaded at once."""
        self._rounds[loop] = max(rounds, self.rounds(loop))

    def rounds(self, loop: Loop) -> int:
        return self._rounds.get(loop, 1)
