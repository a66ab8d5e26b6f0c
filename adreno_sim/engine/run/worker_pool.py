"""Threads that help launches. They are started once, wait in native code, and end with the process."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
import threading
from collections.abc import Sequence
from time import perf_counter

from .aligned_memory import aligned
from .futex_pool import BOX_WORDS, CALL, LOOKS, handover

_BOX = BOX_WORDS * 8
_SLICE = 0.05
"""Seconds after which a wait looks at the clock again, and lets Python see to signals that another thread has taken."""

Call = tuple[int, int, int]
"""Addresses: code, context block, argument block."""


class Team:
    """`size` threads, each at a box of its own. One launch at a time has it: see `borrow`."""

    def __init__(self, size: int) -> None:
        """RuntimeError where the system gives no more threads."""
        self.size, self._native = size, handover()
        self._memory, self._boxes = aligned(size * _BOX)
        self._bytes = memoryview(self._memory.data)
        self._private = [aligned(0) for _ in range(size)]
        self._room = 0
        _teams.append(self)
        self._threads = [self._started(self._boxes + number * _BOX) for number in range(size)]
        self._kept_from: int | None = None  # a processor that they may not run on

    def _started(self, box: int) -> threading.Thread:
        thread = threading.Thread(target=self._native.help, args=(box,), name=f"adreno-sim-{next(_numbers)}", daemon=True)
        thread.start()
        return thread

    def share(self, calls: Sequence[Call], private: int, own: Call, memory: int) -> int:
        """Make a call here, in private memory at `memory`, and others (at most one for each thread) side by side with it, each
        in `private` bytes. What no thread has begun with by then is called here too. How many the threads have made."""
        self._write(calls, private)
        self._keep_apart()
        return int(self._native.share(self._boxes, len(calls), *own, memory))

    def _keep_apart(self) -> None:
        """Let no thread of the team run on this one's processor. Linux wakes a thread where it ran last, or where it is woken,
        and may leave it there for tens of milliseconds, in turn with the one that waits for its help, while another processor has
        nothing to do: on virtual machines after most pauses, as one that has slept for a while counts as taken away."""
        here = _processor()
        others = os.sched_getaffinity(0) - {here} if here != self._kept_from else set()
        if others:
            self._allow(others)
            self._kept_from = here

    def _allow(self, processors: set[int]) -> None:
        for number in [t.native_id for t in self._threads if t.native_id is not None]:
            with contextlib.suppress(OSError):  # forbidden: then it stays where it is
                os.sched_setaffinity(number, processors)

    def offer(self, calls: Sequence[Call], private: int) -> None:
        """Let the threads make calls. `wait` and `finish` follow."""
        self._write(calls, private)
        if self._kept_from is not None:
            self._allow(os.sched_getaffinity(0))
            self._kept_from = None
        self._native.offer(self._boxes, len(calls))

    def wait(self, count: int, seconds: float) -> bool:
        """Whether all of `count` offered calls are made before `seconds` are over. Signals are seen to meanwhile."""
        deadline, looks = perf_counter() + seconds, LOOKS if count == 1 else 0  # they have use for the processor
        for number in range(count):
            while not self._native.idle(self._boxes + number * _BOX, int(_SLICE * 1e9), looks):
                if perf_counter() > deadline:
                    return False
        return True

    def finish(self, count: int) -> None:
        """Make those of `count` offered calls here that no thread has begun with, and wait for the others without limit."""
        self._native.finish(self._boxes, count)

    def _write(self, calls: Sequence[Call], private: int) -> None:
        if self._room < private:
            self._private = [aligned(private) for _ in self._private]
            self._room = private
        for number, call in enumerate(calls):
            struct.pack_into("<4Q", self._bytes, number * _BOX + CALL * 8, *call, self._private[number][1])


_processor = ctypes.CDLL(None).sched_getcpu
"""The number of the processor that the calling thread runs on."""
_numbers = itertools.count()
_teams: list[Team] = []
"""All there ever were: threads wait at their memory, even where an exception lost the team."""
_idle: dict[tuple[int, int], list[Team]] = {}
"""Teams nobody uses, by process (threads do not survive a fork) and size."""


def borrow(size: int) -> Team:
    """A team for the caller alone until it is given back. RuntimeError where the system gives no more threads."""
    try:
        return _idle[os.getpid(), size].pop()
    except (KeyError, IndexError):
        return Team(size)


def give_back(team: Team) -> None:
    """A team none of whose threads has anything to do."""
    _idle.setdefault((os.getpid(), team.size), []).append(team)
