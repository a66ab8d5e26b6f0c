"""What commands take: seconds by the clock and of processors. An older checkout may take its turn beside this one."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

from adreno_sim.base.processes.orphans import adopting_orphans

BEFORE = "ADRENO_SIM_BENCH_BEFORE"
"""Environment: the folder of an older checkout, with its environment in .venv."""


@dataclass
class Spent:
    """Seconds until a command ended, and seconds of processors of all its processes, also of those that ended after it."""

    wall: float = 0.0
    processor: float = 0.0


@contextlib.contextmanager
def counting() -> Iterator[Spent]:
    """What is given is filled at the block's end. The block starts commands, and waits for them."""
    spent = Spent()
    with adopting_orphans():
        start, used = time.perf_counter(), _processor_seconds()
        yield spent
        spent.wall = time.perf_counter() - start
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        spent.processor = _processor_seconds() - used


def _processor_seconds() -> float:
    """Of all processes that ended and were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
