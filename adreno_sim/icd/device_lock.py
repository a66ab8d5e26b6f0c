"""The lock around the device. The ring's thread lets a request of the socket go first, which would starve behind commands."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

_YIELD = 20e-6


class DeviceLock:
    """`of_ring` and `of_socket` are the same lock, taken by the one thread and the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = False

    @property
    @contextlib.contextmanager
    def of_socket(self) -> Iterator[None]:
        self._wanted = True
        with self._lock:
            self._wanted = False
            yield

    @property
    def of_ring(self) -> threading.Lock:
        while self._wanted:
            time.sleep(_YIELD)
        return self._lock
