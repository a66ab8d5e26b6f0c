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
from .aligned_memory import zeroed_aligned
from .worker_pool import Call, borrow, give_back

if TYPE_CHECKING:
    from .compiled_kernel import CompiledKernel

_QUICK = 0.02
"""The most seconds that a launch may be expected to take to run in the calling thread, which nothing can interrupt."""
_WORTH_HELP = 2e-4
"""Seconds of work below which waking a second thread costs more than it saves."""


Words = memoryview
"""A context block as 64-bit words."""


@dataclass
class Pace:
    """Seconds that one group of a kernel took on one thread in the last launch; None before the first."""

    seconds_per_group: float | None = None

    def expected(self, groups: int) -> float | None:
        """Returns the expected seconds of work for `groups` groups, or None if nothing is known."""
        return None if self.seconds_per_group is None else self.seconds_per_group * groups


def execute(
    compiled: CompiledKernel, words: Words, context_address: int, arguments_address: int, threads: int, timeout: float
) -> None:
    """Runs the launch's groups on `threads` workers; stops them after `timeout` seconds or on an interrupt."""
    groups = words[context.GROUP_COUNT]
    workers = max(1, min(threads, groups))
    if not worth_help(compiled, groups):
        workers = 1
    words[context.CHUNK] = max(1, groups // (workers * 8))
    call = compiled.loaded.address, context_address, arguments_address
    _run(compiled, [call] * workers, [words], groups, timeout)


def execute_per_worker(
    compiled: CompiledKernel, blocks: Sequence[tuple[Words, int]], arguments_address: int, timeout: float
) -> None:
    """As `execute`, with a context block (words and address) for each worker that names the groups it runs."""
    groups = sum(words[context.GROUP_COUNT] - words[context.NEXT_GROUP] for words, _ in blocks)
    calls = [(compiled.loaded.address, address, arguments_address) for _, address in blocks]
    _run(compiled, calls, [words for words, _ in blocks], groups, timeout)


def _run(compiled: CompiledKernel, calls: list[Call], blocks: Sequence[Words], groups: int, timeout: float) -> None:
    """Makes one call for each worker; together they run `groups`."""
    quick = _is_quick(compiled, groups)
    start = perf_counter()
    workers = _run_in_caller(compiled, calls) if quick else _run_watched(compiled, calls, blocks, timeout)
    compiled.pace.seconds_per_group = (perf_counter() - start) * workers / groups


def _run_in_caller(compiled: CompiledKernel, calls: list[Call]) -> int:
    """Runs the calls on this thread too, as nothing needs to stop them. Returns how many threads have worked."""
    private = compiled.module.memory
    own, *others = calls
    if not others:
        compiled.worker(own[1], own[2], _private_memory(private))
        return 1
    try:
        pool = borrow(len(others))
    except RuntimeError:  # no more threads: the calling one does everything
        for _, context_address, arguments_address in calls:
            compiled.worker(context_address, arguments_address, _private_memory(private))
        return 1
    taken = pool.run_and_join(others, private, own, _private_memory(private))
    give_back(pool)
    return 1 + taken


def _run_watched(compiled: CompiledKernel, calls: list[Call], blocks: Sequence[Words], timeout: float) -> int:
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
    return len(calls)


def _is_quick(compiled: CompiledKernel, groups: int) -> bool:
    """Returns True if the groups are certain to end soon, so that the calling thread may run them."""
    expected = compiled.pace.expected(groups)
    return not compiled.module.polls and expected is not None and expected < _QUICK


def worth_help(compiled: CompiledKernel, groups: int) -> bool:
    """Returns True if the groups are expected to take long enough for more threads, or nothing is known yet."""
    expected = compiled.pace.expected(groups)
    return expected is None or expected >= _WORTH_HELP


_local = threading.local()


def _private_memory(nbytes: int) -> int:
    """Returns the address of this thread's private memory for a group, grown to `nbytes`."""
    if getattr(_local, "nbytes", -1) < nbytes:
        _local.memory, _local.address = zeroed_aligned(nbytes)
        _local.nbytes = nbytes
    return int(_local.address)
