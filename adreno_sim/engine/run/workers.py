"""Runs a launch on worker threads.

A launch of unknown length runs on the threads of a pool while the caller waits, so that it can be stopped by timeout or
interrupt. Code whose loops are all proven short, and that was quick before, runs in the calling thread, with help of the
pool.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field
from time import perf_counter
from typing import TYPE_CHECKING

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..abi import context
from .aligned_memory import private_memory
from .giving_up import may_give_up
from .worker_pool import Call, borrow, give_back

if TYPE_CHECKING:
    from .compiled_kernel import CompiledKernel

_QUICK = 0.02
"""The most seconds that a launch may be expected to take to run in the calling thread, which nothing can interrupt."""
_SHORT = 5e-4
"""Seconds of a launch that fewer threads are tried for: they take no less time for a longer one."""
_FEWER = 4
"""By this factor fewer are tried next."""
_TRIES = 3
"""Launches by a number of threads until it is known how long that takes: a first one finds its data in no cache, or another's."""
_DRIFT = 0.1
"""The share of a longer time that goes into what is expected; a shorter one is."""


Words = memoryview
"""A context block as 64-bit words."""


@dataclass
class Pace:
    """By number of threads: the seconds that a group of a kernel takes in launches by so many, together; and how many launches
    there were."""

    seconds: dict[int, float] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    def expected(self, groups: int) -> float | None:
        """Returns the expected seconds of a launch of `groups` groups, or None if nothing is known."""
        return min(self.seconds.values()) * groups if self.seconds else None

    def choose(self, most: int, groups: int) -> int:
        """Returns how many threads, at most `most`, are to run a launch of `groups` groups: all of them at first. If it is short,
        fewer and fewer, as long as they take less time. Then those that took the least."""
        count = best = most
        while self.times.get(count, 0) >= _TRIES:
            best = count if self.seconds[count] < self.seconds[best] else best
            if count == 1 or self.seconds[count] * groups > _SHORT or best != count:
                return best
            count = max(1, count // _FEWER)
        return count

    def note(self, seconds: float, groups: int, workers: int) -> None:
        """Takes note of a launch of `groups` groups by so many threads."""
        pace, known = seconds / groups, self.seconds.get(workers)
        self.seconds[workers] = pace if known is None or pace < known else known + (pace - known) * _DRIFT
        self.times[workers] = self.times.get(workers, 0) + 1


def execute(
    compiled: CompiledKernel,
    words: Words,
    context_address: int,
    arguments_address: int,
    threads: int,
    timeout: float,
) -> None:
    """Runs the launch's groups on `threads` workers; stops them after `timeout` seconds or on an interrupt."""
    groups = words[context.GROUP_COUNT]
    workers = compiled.pace.choose(max(1, min(threads, groups)), groups)
    words[context.SHARES] = min(workers, context.MOST_SHARES)
    words[context.CHUNK] = max(1, groups // (workers * 8))
    call = compiled.loaded.address, context_address, arguments_address
    _run(compiled, [call] * workers, [words], groups, timeout)


def execute_per_worker(
    compiled: CompiledKernel, blocks: Sequence[tuple[Words, int]], arguments_address: int, timeout: float
) -> None:
    """As `execute`, with a context block (words and address) for each worker that names the groups it runs."""
    groups = sum(words[context.GROUP_COUNT] - words[context.FIRST_GROUP] for words, _ in blocks)
    for words, _ in blocks:
        words[context.SHARES] = 1
    calls = [(compiled.loaded.address, address, arguments_address) for _, address in blocks]
    _run(compiled, calls, [words for words, _ in blocks], groups, timeout)


def _run(compiled: CompiledKernel, calls: list[Call], blocks: Sequence[Words], groups: int, timeout: float) -> None:
    """Makes one call for each worker; together they run `groups`."""
    expected = compiled.pace.expected(groups)
    quick = not compiled.module.polls and expected is not None and expected < _QUICK and not may_give_up()
    start = perf_counter()
    if quick:
        _run_in_caller(compiled, calls)
    else:
        _run_watched(compiled, calls, blocks, timeout)
    compiled.pace.note(perf_counter() - start, groups, len(calls))


def _run_in_caller(compiled: CompiledKernel, calls: list[Call]) -> None:
    """Runs the calls on this thread too, as nothing needs to stop them."""
    private = compiled.module.memory
    own, *others = calls
    if not others:
        compiled.worker(own[1], own[2], _private_memory(private))
        return
    try:
        pool = borrow(len(others))
    except RuntimeError:  # no more threads: the calling one does everything
        for _, context_address, arguments_address in calls:
            compiled.worker(context_address, arguments_address, _private_memory(private))
        return
    pool.run_and_join(others, private, own, _private_memory(private))
    give_back(pool)


def _run_watched(compiled: CompiledKernel, calls: list[Call], blocks: Sequence[Words], timeout: float) -> None:
    """Waits in the calling thread, and stops what still runs after `timeout` seconds or on an interrupt."""
    try:
        pool = borrow(len(calls))
    except RuntimeError as error:
        needed = f"kernel {compiled.name}: expected {len(calls)} threads besides the calling one"
        raise AdrenoSimError(f"{needed}, got from the system: {error}; the device option threads=1 asks for one") from None
    try:
        pool.publish(calls, compiled.module.memory)
        pool.wait(len(calls), timeout)
    finally:
        for words in blocks:
            words[context.STOP] = 1  # only those that still run read it
        pool.join(len(calls))
        give_back(pool)


_local = threading.local()


def _private_memory(nbytes: int) -> int:
    """Returns the address of this thread's private memory for a group, grown to `nbytes`."""
    if getattr(_local, "nbytes", -1) < nbytes:
        _local.memory, _local.address = private_memory(nbytes, 0)
        _local.nbytes = nbytes
    return int(_local.address)
