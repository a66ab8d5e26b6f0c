"""Runs a launch on worker threads.

A launch of unknown length runs on the threads of a pool while the caller waits, so that it can be stopped by timeout or
interrupt. Code whose loops are all proven short, and that was quick before, runs in the calling thread, with help of the
pool.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from ...base.errors import AdrenoSimError
from ..abi import context
from .aligned_memory import private_memory
from .worker_pool import Call, borrow, give_back

if TYPE_CHECKING:
    from .compiled_kernel import CompiledKernel

_QUICK = 0.02
"""The most seconds that a launch may be expected to take to run in the calling thread, which nothing can interrupt."""
_TRIED_ALONE = 4e-4
"""A launch that takes several threads no longer than this may take one thread less."""
_TRIES = 3
"""Launches by one thread, or by several, until it is known how long that takes."""
_DRIFT = 0.1
"""The share of a longer time that goes into what is expected; a shorter one is."""


Words = memoryview
"""A context block as 64-bit words."""


@dataclass
class Pace:
    """Seconds that a group of a kernel takes in launches by one thread, and in launches by several, together; None before the
    first. Each way is tried some times before the faster one is chosen: a first launch finds its data in no cache, or in
    another's."""

    alone: float | None = None
    helped: float | None = None
    times_alone: int = 0
    times_helped: int = 0

    def expected(self, groups: int) -> float | None:
        """Returns the expected seconds of a launch of `groups` groups, or None if nothing is known."""
        known = [pace for pace in (self.alone, self.helped) if pace is not None]
        return min(known) * groups if known else None

    def wants_help(self, groups: int) -> bool:
        """Returns True if several threads are expected to take less time for `groups` groups than one, or nothing is known."""
        if self.helped is None or self.times_helped < _TRIES:
            return True
        if self.alone is None or self.times_alone < _TRIES:
            return self.helped * groups > _TRIED_ALONE
        return self.helped < self.alone

    def note(self, seconds: float, groups: int, workers: int) -> None:
        """Takes note of a launch of `groups` groups by so many threads."""
        pace = seconds / groups
        if workers == 1:
            self.alone, self.times_alone = _drift(self.alone, pace), self.times_alone + 1
        else:
            self.helped, self.times_helped = _drift(self.helped, pace), self.times_helped + 1


def _drift(known: float | None, pace: float) -> float:
    return pace if known is None or pace < known else known + (pace - known) * _DRIFT


def execute(
    compiled: CompiledKernel,
    words: Words,
    context_address: int,
    arguments_address: int,
    threads: int,
    timeout: float,
    ends_soon: bool,
) -> None:
    """Runs the launch's groups on `threads` workers; stops them after `timeout` seconds or on an interrupt, of which there is no
    need if it `ends_soon`."""
    groups = words[context.GROUP_COUNT]
    workers = max(1, min(threads, groups))
    if not compiled.pace.wants_help(groups):
        workers = 1
    words[context.SHARES] = min(workers, context.MOST_SHARES)
    words[context.CHUNK] = max(1, groups // (workers * 8))
    call = compiled.loaded.address, context_address, arguments_address
    _run(compiled, [call] * workers, [words], groups, timeout, ends_soon)


def execute_per_worker(
    compiled: CompiledKernel, blocks: Sequence[tuple[Words, int]], arguments_address: int, timeout: float, ends_soon: bool
) -> None:
    """As `execute`, with a context block (words and address) for each worker that names the groups it runs."""
    groups = sum(words[context.GROUP_COUNT] - words[context.FIRST_GROUP] for words, _ in blocks)
    for words, _ in blocks:
        words[context.SHARES] = 1
    calls = [(compiled.loaded.address, address, arguments_address) for _, address in blocks]
    _run(compiled, calls, [words for words, _ in blocks], groups, timeout, ends_soon)


def _run(
    compiled: CompiledKernel, calls: list[Call], blocks: Sequence[Words], groups: int, timeout: float, ends_soon: bool
) -> None:
    """Makes one call for each worker; together they run `groups`."""
    expected = compiled.pace.expected(groups)
    quick = (ends_soon or not compiled.module.polls) and expected is not None and expected < _QUICK
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
            words[context.STOP] = 1  # only those who still run look at it
        pool.join(len(calls))
        give_back(pool)


_local = threading.local()


def _private_memory(nbytes: int) -> int:
    """Returns the address of this thread's private memory for a group, grown to `nbytes`."""
    if getattr(_local, "nbytes", -1) < nbytes:
        _local.memory, _local.address = private_memory(nbytes, 0)
        _local.nbytes = nbytes
    return int(_local.address)
