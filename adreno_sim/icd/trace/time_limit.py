"""How long the replay of a whole recording may take. Each launch has its own limit, and a recording holds as many as it likes."""

from __future__ import annotations

import time


class TimeLimit:
    """Seconds by the clock from now on, for all sessions together. What runs when they are over still ends."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Whether nothing more may begin."""
        return time.monotonic() >= self._end

    def __str__(self) -> str:
        return f"the replay ended after {self.seconds:g} s (--time-limit gives it more)"
