"""What the time of a run goes to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class RunTimer:
    """Seconds of what happens around launches, by stage: "build", "device", "golden", "compare"."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("build", "device", "golden", "compare"), 0.0)
        self._started = 0.0

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Adds the time of a block that ends without an error."""
        start = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - start

    def begin_launch(self) -> None:
        self._started = time.perf_counter()

    def end_launch(self, device_seconds: float | None) -> float:
        """Returns the seconds since the launch began. device_seconds: what the device says that it ran."""
        seconds = time.perf_counter() - self._started
        running = seconds if device_seconds is None else min(device_seconds, seconds)
        self.seconds["device"] += running
        self.seconds["build"] += seconds - running  # machine code is made when the work-group size is known
        return seconds
