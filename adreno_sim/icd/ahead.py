"""Machine code of launches that wait in the ring, made by other threads while the ring's thread compiles and runs earlier ones.

It is the code that the ring's thread would make: that thread finds it, or waits for it. If a launch turns out to need other code,
what was made for it is of no use, and nothing else changes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ..device.compiling import find_compiler
from .launches import DriverLaunch, Launches
from .objects import Objects
from .protocol import LAUNCH_BODY, Command
from .ring import Ring

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

_MOST_THREADS = 8
"""More have nothing to do: LLVM, in children, takes three times as long as Python, whose lock all threads share."""
_MOST_KNOWN = 1 << 14
"""Kinds of launches that are kept."""


class CompileAhead:
    """Compiles launches of `ring` before they run. Launches of one kernel over one NDRange are of one kind: other differences,
    such as scalars, seldom change the code. The number of a program is never used twice."""

    def __init__(self, ring: Ring, objects: Objects, launches: Launches):
        self._ring, self._objects, self._launches = ring, objects, launches
        others = min(len(os.sched_getaffinity(0)) - 1, _MOST_THREADS)
        self._others = others if find_compiler(objects.device) else 0
        self._pool: Executor | None = None
        self._jobs: set[Future[None]] = set()
        self._known: set[bytes] = set()

    def look(self, kind: Command, body: bytes) -> None:
        """A command is about to run, and the caller holds the device's lock. The first launch of its kind takes a while: others
        that wait behind it are compiled meanwhile."""
        if kind is not Command.LAUNCH or not self._others:
            return
        if self._note(body):
            self._begin_jobs()

    def _note(self, body: bytes) -> bool:
        """Returns whether it is the first launch of its kind."""
        kind = body[: LAUNCH_BODY.size]
        if kind in self._known:
            return False
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known.add(kind)
        return True

    def _begin_jobs(self) -> None:
        self._jobs = {job for job in self._jobs if not job.done()}
        room = 2 * self._others - len(self._jobs)  # a thread that is done finds its next one
        for kind, body in self._ring.waiting() if room > 0 else ():
            if kind == Command.LAUNCH and self._note(body):
                with suppress(Exception):  # as below
                    self._jobs.add(self._find_pool().submit(self._compile, self._launches.parse(body)))
                    room -= 1
            if room <= 0:
                return

    def _find_pool(self) -> Executor:
        """The threads, begun when there is work: most sessions have none."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._others, thread_name_prefix="ahead")
        return self._pool

    def _compile(self, launch: DriverLaunch) -> None:
        with suppress(Exception):  # the launch meets the same error when it runs, and reports it
            self._objects.device.compile_launch(
                launch.kernel, launch.global_size, launch.local_size, launch.arguments, offset=launch.offset
            )
