"""An in-memory cache of values that depend on a kernel and on further keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ...ir import ir

T = TypeVar("T")


class KernelMemo(Generic[T]):
    """A cache of at most `capacity` values; the oldest is dropped first. Thread-safe."""

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Hashable, ...], tuple[ir.Function, T]] = OrderedDict()

    def get(self, kernel: ir.Function, *key: Hashable, make: Callable[[], T]) -> T:
        """Returns the value for `kernel` and `key`, made on first use. Two threads that make it at once get the same one."""
        asked = id(kernel), *key
        with self._lock:
            known = self._known.get(asked)
        if known is None:
            made = kernel, make()  # holds the kernel, so that its id stays its own
            with self._lock:
                known = self._known.setdefault(asked, made)
                while len(self._known) > self._capacity:
                    self._known.popitem(last=False)
        return known[1]

    def clear(self) -> None:
        """Drops all values."""
        with self._lock:
            self._known.clear()
