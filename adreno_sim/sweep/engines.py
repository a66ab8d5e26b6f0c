"""Where cases run: processes of this machine, or the workers of a Dask scheduler. Both give results as they come."""

from __future__ import annotations

import os
import queue
import warnings
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..base.errors import AdrenoSimError
from ..base.installed.extras import require
from ..base.processes import isolation
from ..base.version import __version__
from .case import Case, Outcome, Result
from .child import run_case

CONNECT_SECONDS = 20


def on_this_machine(cases: Sequence[Case], limit: float, jobs: int) -> Iterator[tuple[Case, Result]]:
    """Run `jobs` cases at a time, each on its share of the processors: a library takes as many threads as it sees of them."""
    jobs = max(1, min(jobs, len(cases)))  # no case would use the other shares
    shares: queue.SimpleQueue[set[int]] = queue.SimpleQueue()
    for share in divide_processors(os.sched_getaffinity(0), jobs):
        shares.put(share)
    pool, running = ThreadPoolExecutor(jobs, initializer=lambda: _keep_to(shares.get())), isolation.Processes()
    try:
        waiting = {pool.submit(run_case, case, limit, among=running): case for case in cases}
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    except BaseException:  # whoever takes the results gave up: Python would wait for the cases that run
        pool.shutdown(wait=False, cancel_futures=True)
        running.end()
        raise
    pool.shutdown()


def divide_processors(processors: Collection[int], jobs: int) -> list[set[int]]:
    """Returns a share for each job: neighbours, none in two shares; with more jobs than processors one each, and some twice."""
    ordered = sorted(processors)
    ends = [len(ordered) * number // jobs for number in range(jobs + 1)]
    return [set(ordered[begin : max(end, begin + 1)]) for begin, end in pairwise(ends)]


def _keep_to(share: set[int]) -> None:
    """The calling thread, and what it starts, runs on these processors; on all of them where the system refuses that."""
    with suppress(OSError):
        os.sched_setaffinity(0, share)


def on_cluster(cases: Sequence[Case], limit: float, address: str) -> Iterator[tuple[Case, Result]]:
    """Run cases on the workers of the scheduler at `address`; each model travels to them as its bytes.

    What a worker was at when it died goes to another. Raises AdrenoSimError if Dask, the scheduler or its workers are
    missing, a worker has another version of this package, or the scheduler is lost.
    """
    with open_cluster(address) as client:
        from distributed import as_completed as as_done

        blobs = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of large task graphs: the scheduler must hold the models
            for case in cases:
                if case.digest not in blobs:  # a task, not scattered data, which would be lost with its worker
                    blobs[case.digest] = client.submit(_same, Path(case.path).read_bytes(), key=f"model-{case.digest}")
            waiting = {client.submit(run_case, case, limit, blobs[case.digest], key=case.key, pure=False): case for case in cases}
        for done in as_done(list(waiting), loop=client.loop):
            yield waiting[done], _result(done, address)


@contextmanager
def open_cluster(address: str) -> Iterator[Any]:
    """Gives a client of the scheduler at `address`, whose workers have this version.

    Raises AdrenoSimError if Dask, the scheduler or its workers are missing, or a worker has another version.
    """
    require("distributed")
    import distributed

    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise AdrenoSimError(f"no Dask scheduler at {address}: {error}") from error
    with client:
        _require_workers(client, address)
        yield client


def _same(content: bytes) -> bytes:
    return content


def _version() -> str:
    return __version__


def _require_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        raise AdrenoSimError(f"the Dask scheduler at {address} has no worker") from error
    try:
        found = client.run(_version)
    except Exception as error:  # whatever a worker without this package answers
        raise AdrenoSimError(f"workers of {address} cannot run adreno-sim {__version__}: {error}") from error
    for worker, version in found.items():
        if version != __version__:
            raise AdrenoSimError(f"worker {worker} has adreno-sim {version}, this is {__version__}")


def _result(done: Any, address: str) -> Result:
    from distributed import KilledWorker

    if done.cancelled():
        raise AdrenoSimError(f"lost the Dask scheduler at {address}; the same command goes on with what is left")
    try:
        result: Result = done.result()
    except KilledWorker as error:
        return Result(Outcome("crashed", 1, f"took its workers with it: {error}".splitlines()[0], 0.0))
    return result
