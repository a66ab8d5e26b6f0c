"""Pools of threads that help launches. Threads start once, wait in native code, and end with the process."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
import threading
from collections.abc import Sequence
from time import perf_counter

from ..abi.mailbox import CALL, MAILBOX_WORDS, SPINS
from .aligned_memory import private_memory, zeroed_aligned
from .giving_up import must_give_up
from .native_functions import native_functions

_MAILBOX_BYTES = MAILBOX_WORDS * 8
_SLICE = 0.05
"""Seconds after which a wait checks the clock again, and lets Python handle signals that another thread has received."""

Call = tuple[int, int, int]
"""Addresses of a call: code, context block, argument block."""


class WorkerPool:
    """`size` threads, each with its own mailbox. One launch at a time uses a pool: see `borrow`."""

    def __init__(self, size: int) -> None:
        """Starts the threads. Raises RuntimeError if the system gives no more threads."""
        self.size, self._native = size, native_functions()
        self._memory, self._mailboxes = zeroed_aligned(size * _MAILBOX_BYTES)
        self._bytes = memoryview(self._memory.data)
        self._private = [private_memory(0, number) for number in range(1, size + 1)]
        self._room = 0
        _all_pools.append(self)
        self._threads = [self._start_thread(self._mailboxes + number * _MAILBOX_BYTES) for number in range(size)]
        self._excluded: int | None = None  # a processor that they may not run on

    def _start_thread(self, mailbox: int) -> threading.Thread:
        thread = threading.Thread(target=self._native.serve, args=(mailbox,), name=f"adreno-sim-{next(_numbers)}", daemon=True)
        thread.start()
        return thread

    def run_and_join(self, calls: Sequence[Call], private: int, own: Call, memory: int) -> int:
        """Publishes `calls`, at most one a thread, makes the call `own` here in private memory at `memory`, and waits for
        all.

        Each published call has `private` bytes of memory. Calls that no thread has started by then are made here too. Returns
        how many the threads have made.
        """
        self._write(calls, private)
        self._leave_this_processor()
        return int(self._native.run_and_join(self._mailboxes, len(calls), *own, memory))

    def _leave_this_processor(self) -> None:
        """Keeps the threads off this thread's processor. Linux wakes a thread where it ran last, or where it is woken, and
        may leave it there for tens of milliseconds, taking turns with the thread that waits for it, while another processor
        is idle. On virtual machines this happens after most pauses, because a thread that has slept for a while counts as
        preempted."""
        here = _processor()
        others = os.sched_getaffinity(0) - {here} if here != self._excluded else set()
        if others:
            self._allow(others)
            self._excluded = here

    def _allow(self, processors: set[int]) -> None:
        for number in [t.native_id for t in self._threads if t.native_id is not None]:
            with contextlib.suppress(OSError):  # forbidden: then it stays where it is
                os.sched_setaffinity(number, processors)

    def publish(self, calls: Sequence[Call], private: int) -> None:
        """Lets the threads make calls. `wait` and `join` follow."""
        self._write(calls, private)
        if self._excluded is not None:
            self._allow(os.sched_getaffinity(0))
            self._excluded = None
        self._native.publish(self._mailboxes, len(calls))

    def wait(self, count: int, seconds: float) -> bool:
        """Returns True if all of `count` published calls end within `seconds`, and before they must give up. Signals are handled
        meanwhile."""
        deadline, spins = perf_counter() + seconds, SPINS if count == 1 else 0  # they have use for the processor
        for number in range(count):
            while not self._native.wait_idle(self._mailboxes + number * _MAILBOX_BYTES, int(_SLICE * 1e9), spins):
                if perf_counter() > deadline or must_give_up():
                    return False
        return True

    def join(self, count: int) -> None:
        """Makes those of `count` published calls here that no thread has started, and waits for the others without limit."""
        self._native.join(self._mailboxes, count)

    def _write(self, calls: Sequence[Call], private: int) -> None:
        if self._room < private:
            self._private = [private_memory(private, number) for number in range(1, self.size + 1)]
            self._room = private
        for number, call in enumerate(calls):
            struct.pack_into("<4Q", self._bytes, number * _MAILBOX_BYTES + CALL * 8, *call, self._private[number][1])


_processor = ctypes.CDLL(None).sched_getcpu
"""Returns the number of the processor that the calling thread runs on."""
_numbers = itertools.count()
_all_pools: list[WorkerPool] = []
"""Every pool ever made: threads wait at its memory, even if an exception lost the pool."""
_idle: dict[tuple[int, int], list[WorkerPool]] = {}
"""Idle pools by process (threads do not survive a fork) and size."""


def borrow(size: int) -> WorkerPool:
    """Returns a pool for the caller alone until `give_back`. Raises RuntimeError if the system gives no more threads."""
    try:
        return _idle[os.getpid(), size].pop()
    except (KeyError, IndexError):
        return WorkerPool(size)


def give_back(pool: WorkerPool) -> None:
    """Returns a pool whose threads are all idle."""
    _idle.setdefault((os.getpid(), pool.size), []).append(pool)
