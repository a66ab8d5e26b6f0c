"""Worker threads, and how a launch uses them.

A launch of unknown length runs on pool threads while the caller waits: so it can be stopped after its time and
interrupted. Code whose loops are all proven short, and that was quick before, runs in the calling thread, with help.
"""

from __future__ import annotations

import concurrent.futures
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from . import context
from .memory import aligned

if TYPE_CHECKING:
    from .compiled import CompiledKernel

_QUICK = 0.02
"""Seconds a launch may be expected to take to run in the calling thread, which nothing can interrupt."""
_WORTH_HELP = 2e-4
"""Seconds of work below which waking a second thread costs more than it saves."""


@dataclass
class Pace:
    """What one group of a kernel took on one thread when it last ran; None before."""

    seconds_per_group: float | None = None

    def expected(self, groups: int) -> float | None:
        """Seconds of work that `groups` groups are expected to be."""
        return None if self.seconds_per_group is None else self.seconds_per_group * groups


def execute(
    compiled: CompiledKernel, words: np.ndarray, context_address: int, arguments_address: int, threads: int, timeout: float
) -> None:
    """Share the launch's groups among `threads` workers; stop them after `timeout` seconds or on an interrupt."""
    groups = int(words[context.GROUP_COUNT])
    workers = max(1, min(threads, groups))
    expected = compiled.pace.expected(groups)
    quick = _is_quick(compiled, groups)
    if quick and expected is not None and expected < _WORTH_HELP:
        workers = 1
    words[context.CHUNK] = max(1, groups // (workers * 8))

    def work() -> None:
        compiled.worker(context_address, arguments_address, _private_memory(compiled.module.memory))

    start = perf_counter()
    helpers = [_pool(threads).submit(work) for _ in range(workers - 1 if quick else workers)]
    try:
        if quick:
            work()
        if helpers:
            concurrent.futures.wait(helpers, timeout)
    finally:
        words[context.STOP] = 1  # only those who still run look at it
        for helper in helpers:
            helper.result()
    compiled.pace.seconds_per_group = (perf_counter() - start) * workers / groups


def execute_apart(
    compiled: CompiledKernel, blocks: Sequence[tuple[np.ndarray, int]], arguments_address: int, timeout: float
) -> None:
    """As `execute`, each worker with a context block of its own (words and address) that names the groups it runs."""
    groups = sum(int(words[context.GROUP_COUNT]) - int(words[context.NEXT_GROUP]) for words, _ in blocks)

    def work(address: int) -> None:
        compiled.worker(address, arguments_address, _private_memory(compiled.module.memory))

    quick = _is_quick(compiled, groups)
    start = perf_counter()
    helpers = [_pool(len(blocks)).submit(work, address) for _, address in blocks[quick:]]
    try:
        if quick:
            work(blocks[0][1])
        concurrent.futures.wait(helpers, timeout)
    finally:
        for words, _ in blocks:
            words[context.STOP] = 1
        for helper in helpers:
            helper.result()
    compiled.pace.seconds_per_group = (perf_counter() - start) * len(blocks) / groups


def _is_quick(compiled: CompiledKernel, groups: int) -> bool:
    """Whether the calling thread may run groups: soon over for certain."""
    expected = compiled.pace.expected(groups)
    return not compiled.module.polls and expected is not None and expected < _QUICK


def worth_help(compiled: CompiledKernel, groups: int) -> bool:
    """Whether so many groups are expected to take long enough to share them, or nothing is known yet."""
    expected = compiled.pace.expected(groups)
    return expected is None or expected >= _WORTH_HELP


_local = threading.local()
_pools: dict[tuple[int, int], concurrent.futures.ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def _pool(workers: int) -> concurrent.futures.ThreadPoolExecutor:
    """Worker threads that stay; one more pool for each number of workers ever asked for."""
    key = (os.getpid(), workers)  # threads do not survive a fork
    with _pools_lock:
        if key not in _pools:
            _pools[key] = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="adreno-sim")
        return _pools[key]


def _private_memory(nbytes: int) -> int:
    """The address of this thread's private memory for a group, grown to `nbytes`."""
    if getattr(_local, "nbytes", -1) < nbytes:
        _local.memory, _local.address = aligned(nbytes)
        _local.nbytes = nbytes
    return int(_local.address)
