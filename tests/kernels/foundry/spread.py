"""Where cases run: processes of this machine, or the workers of a Dask scheduler. A process that dies ends only its cases."""

from __future__ import annotations

import itertools
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.sweep.engines import open_cluster

from .campaign import BATCH, Report, run_batches

MOST = 64
"""Cases of a process at most: it takes a second to start."""
SECONDS_PER_CASE = 120.0


def split(start: int, count: int, jobs: int, step: int = 1) -> list[range]:
    """The numbers of the cases of each process: whole batches, so many that all of `jobs` have some. step: every so many."""
    size = min(MOST, max(1, count // (step * jobs * BATCH)) * BATCH) * step
    edges = [start, *range((start // size + 1) * size + start % step, start + count, size), start + count]
    return [range(a, b, step) for a, b in itertools.pairwise(edges) if a < b]


def on_this_machine(seed: int, parts: Sequence[range], jobs: int) -> Iterator[Report]:
    """Runs `jobs` parts at a time, each in a process of its own; what a process was at when it died is run case by case."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_in_process, seed, part) for part in parts]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:  # whoever takes the reports gave up
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _in_process(seed: int, part: range) -> Report:
    report = _try(seed, part)
    if report is not None:
        return report
    if len(part) == 1:
        return Report(failures=[f"case {seed}/{part[0]}: its process died or did not end"], died=1)
    whole = Report()
    for number in part:
        whole.add(_in_process(seed, range(number, number + 1)))
    return whole


def _try(seed: int, part: range) -> Report | None:
    """The report of a process; None where it died or did not end."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, seed, part), daemon=True)
    process.start()
    theirs.close()
    try:
        if ours.poll(SECONDS_PER_CASE + 10 * len(part)):
            report: Report = ours.recv()
            return report
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
        ours.close()
    return None


def _work(pipe: Connection, seed: int, part: range) -> None:
    pipe.send(run_batches(seed, part))
    pipe.close()


def on_cluster(seed: int, parts: Sequence[range], address: str) -> Iterator[Report]:
    """Runs parts on the workers of the scheduler at `address`, which get these modules as a file.

    Raises AdrenoSimError where Dask, the scheduler or its workers are missing or of another version.
    """
    with open_cluster(address) as client:
        from distributed import KilledWorker
        from distributed import as_completed as as_done

        with tempfile.TemporaryDirectory() as folder:
            client.upload_file(_packed(Path(folder)))
        waiting = {client.submit(run_batches, seed, part, pure=False): part for part in parts}
        for done in as_done(list(waiting), loop=client.loop):
            if done.cancelled():
                raise AdrenoSimError(f"lost the Dask scheduler at {address}")
            try:
                yield done.result()
            except KilledWorker:
                yield Report(failures=[f"cases {seed}/{waiting[done]}: took their workers with them"], died=1)


def _packed(folder: Path) -> str:
    """This package as an archive from which Python imports it."""
    here = Path(__file__).parent
    inside = folder / "files"
    shutil.copytree(here, inside / here.name, ignore=shutil.ignore_patterns("__pycache__"))
    return shutil.make_archive(str(folder / "foundry_modules"), "zip", inside)
