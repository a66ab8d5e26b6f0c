"""Where in the host's program its calls came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MOST_PLACES, MOST_FRAMES, LONGEST = 8192, 32, 1000
"""Of a process; of a place; characters of a frame."""
_MOST_CALLS = 65536
"""Calls that are remembered of a recording."""

Frames = tuple[str, ...]
"""In words, the innermost first."""


class Places:
    """Places by number. place_of: the number of the place of a call, 0 where it is not known; without it, as given to `note`."""

    def __init__(self, place_of: Callable[[int], int] | None = None):
        self._frames: dict[int, Frames] = {}
        self._calls: dict[int, int] = {}
        self._place_of = place_of or (lambda call: self._calls.get(call, 0))

    def add(self, number: int, frames: Sequence[str]) -> None:
        """A place has this number from now on. ValueError for more than a client reports."""
        if not 0 < number <= MOST_PLACES or len(frames) > MOST_FRAMES:
            raise ValueError(f"place {number} of {len(frames)} frames: expected up to {MOST_PLACES}, of {MOST_FRAMES} frames")
        self._frames[number] = tuple(frame[:LONGEST] for frame in frames)

    def note(self, call: int, place: int) -> None:
        """A call of a recording came from this place."""
        if place:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[call] = place

    def number_of(self, call: int) -> int:
        """The number of the place that a call came from, 0 where nobody knows."""
        return self._place_of(call) if call else 0

    def find(self, call: int) -> Frames:
        """The frames of a call; none where nobody knows."""
        return self._frames.get(self.number_of(call), ())
