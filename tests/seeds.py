"""Campaigns over seeds: a function of one seed, run over many in processes of their own, within a time."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

BATCH = 10
"""Seeds that a process takes at a time."""

GRACE = 60.0
"""Seconds that a seed which was begun in time may take beyond it."""

Find = Callable[[int], str]
"""What is wrong with the case of a seed, "" if nothing is. A function of a module: other processes import it."""


@dataclass
class Outcome:
    """ran: how many seeds ran. found: what is wrong, by seed. left: seeds for which there was no time."""

    ran: int = 0
    found: dict[int, str] = field(default_factory=dict)
    left: int = 0

    @property
    def ok(self) -> bool:
        return not self.found and not self.left


def add_options(parser: argparse.ArgumentParser, count: int) -> None:
    parser.add_argument("--count", type=int, default=count, help=f"cases (default {count})")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (default 0)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="what is not begun by then is left (default 3600)")


def run_campaign(find: Find, options: argparse.Namespace, what: str) -> int:
    """Runs the seeds that `options` ask for, prints what is wrong with them, and what ran. Returns an exit code."""
    began = time.monotonic()
    seeds = range(options.first, options.first + options.count)
    outcome = run_seeds(find, seeds, options.jobs, began + options.seconds)
    left = f", no time for {outcome.left}" if outcome.left else ""
    seconds = time.monotonic() - began
    print(f"{outcome.ran} {what} from seed {options.first} on: {len(outcome.found)} wrong{left}; {seconds:.0f} s", flush=True)
    return 0 if outcome.ok else 1


def run_seeds(find: Find, seeds: range, jobs: int, until: float) -> Outcome:
    """Runs `find` over seeds until a time of `time.monotonic`. A seed whose process dies is wrong.

    With a process all batches under way are lost: each is tried again alone, and that which dies again seed by seed.
    """
    outcome = Outcome()
    batches = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
    lost = list(_pooled(find, batches, jobs, until, outcome))
    lost = [again for batch in lost for again in _pooled(find, [batch], 1, until, outcome)]
    for seed in [seed for batch in lost for seed in batch]:
        if list(_pooled(find, [range(seed, seed + 1)], 1, until, outcome)):
            _note(outcome, {seed: "its process died"})
    outcome.left = len(seeds) - outcome.ran
    return outcome


def _pooled(find: Find, batches: list[range], jobs: int, until: float, outcome: Outcome) -> Iterator[range]:
    """Runs batches. Yields those whose process died."""
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    under_way: dict[Future[dict[int, str]], range] = {pool.submit(_run_batch, find, batch, until): batch for batch in batches}
    waiting = set(under_way)
    while waiting:
        done, waiting = wait(waiting, max(0.0, until + GRACE - time.monotonic()), return_when="FIRST_COMPLETED")
        if not done:
            break
        for future in done:
            try:
                _note(outcome, future.result())
            except BrokenProcessPool:
                yield under_way[future]
    children = list((pool._processes or {}).values())
    pool.shutdown(wait=not waiting, cancel_futures=True)
    for child in children if waiting else ():  # they hang
        child.kill()


def _run_batch(find: Find, seeds: range, until: float) -> dict[int, str]:
    found: dict[int, str] = {}
    for seed in seeds:
        if time.monotonic() > until:
            break
        try:
            found[seed] = find(seed)
        except Exception as error:  # of one case: the others go on
            found[seed] = f"{type(error).__name__}: {error}"
    return found


def _note(outcome: Outcome, found: dict[int, str]) -> None:
    outcome.ran += len(found)
    for seed, what in found.items():
        if what:
            outcome.found[seed] = what
            print(f"seed {seed}: {what}", flush=True)
    if sys.stderr.isatty():
        print(f"\r{outcome.ran} ran, {len(outcome.found)} wrong ", end="", file=sys.stderr, flush=True)
