"""An in-memory cache of values that depend on a kernel and on further keys."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Generic, TypeVar

from ...ir import ir
from ...records import dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class _Maker:
    """A thread that makes a value, and the event that it has ended. A process by fork does not have the thread."""

    process: int = field(default_factory=os.getpid)
    thread: int = field(default_factory=threading.get_ident)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def is_another(self) -> bool:
        """Whether the caller can wait for it."""
        return self.process == os.getpid() and self.thread != threading.get_ident()


class KernelMemo(Generic[T]):
    """A cache of at most `capacity` values; the oldest is dropped first. Thread-safe."""

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Hashable, ...], tuple[ir.Function, T]] = OrderedDict()
        self._makers: dict[tuple[Hashable, ...], _Maker] = {}

    def get(self, kernel: ir.Function, *key: Hashable, make: Callable[[], T]) -> T:
        """Returns the value for `kernel` and `key`, made on first use. While another thread makes it, the caller waits; if that
        thread fails, the caller makes it."""
        asked = id(kernel), *key
        while True:
            with self._lock:
                known = self._known.get(asked)
                if known is not None:
                    return known[1]
                maker = self._makers.get(asked)
                if maker is None or not maker.is_another:
                    own = self._makers[asked] = _Maker()
                    break
            maker.ended.wait()
        try:
            made = kernel, make()  # holds the kernel, so that its id stays its own
            with self._lock:
                known = self._known.setdefault(asked, made)
                while len(self._known) > self._capacity:
                    self._known.popitem(last=False)
        finally:
            with self._lock:
                if self._makers.get(asked) is own:
                    del self._makers[asked]
            own.ended.set()
        return known[1]

    def clear(self) -> None:
        """Drops all values."""
        with self._lock:
            self._known.clear()
