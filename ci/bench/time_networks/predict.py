"""Predicted beside published times of networks: python ci/bench/time_networks/predict.py --records FILE.csv [NETWORK ...]

Networks are compiled for textures, with the schedules of tuning records where the file has them. Where it has not, some random
schedules of the convolution are counted, with --steps also neighbours of the best, and the one of the lowest predicted time is
taken, as the phone's networks were tuned too. --own keeps the pipeline's own schedules in their place. What a network takes is
the sum of its launches on the machine of the records; published are times on a phone that is not named (apache/tvm, pull
requests 16329 and 17609). Two other sums show errors that are not the model's: one has the times of the records, less their
copies, instead of predicted ones; the other has Winograd's algorithm where TVM offers it and it is predicted to be faster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from time_records.count import DEVICE
from time_records.record import Record, read_records

from adreno_sim import AdrenoSimError, open_device
from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.memory_scopes.scoping import Scoping
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.run.observer import LaunchCall, Observer
from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.launches import LaunchTimer
from adreno_sim.timing.machines import RECORDS
from adreno_sim.timing.model import predict
from time_networks.architectures import NETWORKS, make_network
from time_networks.choices import Choices, Search, compare, find_schedules
from time_networks.schedules import RecordSchedules
from time_networks.sums import COLUMNS, find_published, show_growth, sum_network, sum_records, summarise

DTYPES = ("float32", "float16")


class LaunchFiguresByName(Observer):
    """launches: kernel and figures of every launch so far."""

    def __init__(self, timer: LaunchTimer):
        self._timer = timer
        self.launches: list[tuple[str, LaunchFigures]] = []

    def before_launch(self, launch: LaunchCall) -> None:
        made = self._timer.time(launch.kernel, launch.global_size, launch.local_size, launch.args)
        if made is not None and made.figures is not None:
            self.launches.append((launch.code.name, made.figures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NETWORK", help=f"of {'; '.join(NETWORKS)}")
    parser.add_argument("--records", type=Path, required=True, metavar="FILE", help="CSV of records")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="counts of schedules, as of adreno_time.py")
    parser.add_argument("--launches", type=Path, metavar="FILE", help="counts of networks, read where it has them, else added")
    parser.add_argument("--draw", type=int, default=20, metavar="N", help="schedules where there is no record (default 20)")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="to neighbours of the best of these (default 0)")
    parser.add_argument("--width", type=int, default=8, metavar="N", help="neighbours in a step (default 8)")
    parser.add_argument("--own", action="store_true", help="the pipeline's own schedules for all convolutions")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="stop after this time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, choices=DTYPES)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    search = Search(options.draw, options.steps, options.width, options.keep, options.jobs, until)
    tasks = [(name, dtype) for name in options.networks for dtype in options.dtypes]
    schedules = {} if options.own else choose_schedules(tasks, options.records, search)
    choices = compare(schedules, search)
    known = read_networks(options.launches)
    left, factors = [], []
    for task in tasks:
        network = known.get(task)
        if network is not None and network.digest == digest(*task, schedules):
            factors.append(show(network, choices))
        else:
            left.append(task)
    for network in count_networks(left, schedules, options, until):
        factors.append(show(network, choices))
        if not network.error and options.launches is not None:
            known[network.name, network.dtype] = network
            options.launches.write_text(json.dumps([asdict(one) for one in known.values()]), encoding="utf-8")
    show_growth(tasks, choices)
    summarise(np.array([row for row in factors if row is not None]))
    return 0


def read_networks(path: Path | None) -> dict[tuple[str, str], CountedNetwork]:
    """The networks of a file, if there is one."""
    if path is None or not path.exists():
        return {}
    found = [CountedNetwork(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    return {
        (one.name, one.dtype): replace(one, launches=[(kernel, LaunchFigures(**each)) for kernel, each in one.launches])
        for one in found
    }


def choose_schedules(tasks: list[tuple[str, str]], path: Path, search: Search) -> dict[str, list[Record]]:
    """The schedules of all convolutions of networks, by where they are from."""
    records, _ = read_records(path)
    recorded = {record.workload: record for record in records}
    every = {one.workload: one for task in tasks for one in make_network(*task)[1]}
    wanted = [one for workload, one in every.items() if workload not in recorded]
    found, gains = find_schedules(wanted, search)
    print(f"{len(wanted)} convolutions have no record: for {len(found)} of them the best by the model is taken.")
    if search.steps and gains:
        print(f"The best of up to {search.draw} random schedules takes {np.median(gains):.2f} times as long in the median, "
              f"{np.mean(gains):.2f} in the mean, {max(gains):.2f} at the most", flush=True)  # fmt: skip
    return {"drawn": found, "recorded": [recorded[workload] for workload in every if workload in recorded]}


def digest(name: str, dtype: str, schedules: Mapping[str, list[Record]]) -> str:
    """What the schedules of a network are, in short: counts are of these alone."""
    by_workload = {one.workload: one for some in schedules.values() for one in some}
    used = [replace(found, seconds=0.0) for one in make_network(name, dtype)[1] if (found := by_workload.get(one.workload))]
    return hashlib.sha256(repr(used).encode()).hexdigest()[:16]


def count_networks(
    tasks: list[tuple[str, str]], schedules: dict[str, list[Record]], options: argparse.Namespace, until: float
) -> Iterator[CountedNetwork]:
    """The networks as they are counted, in other processes, as long as there is time."""
    # A record that was asked for its textures holds functions, which no other process can get; a copy holds none.
    schedules = {origin: [replace(one) for one in some] for origin, some in schedules.items()}
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        rows = pool.imap_unordered(count_network, [(*one, schedules) for one in tasks])
        for _ in tasks:
            try:
                yield rows.next(max(0.0, until - time.monotonic()) if until < float("inf") else None)
            except multiprocessing.TimeoutError:
                print(f"the others are not counted after {options.seconds:g} seconds")
                break


@dataclass(frozen=True)
class CountedNetwork:
    """launches: kernel and figures of each. origins: of the schedules of its functions; digest: of these. error: why there are
    none."""

    name: str
    dtype: str
    launches: list[tuple[str, LaunchFigures]]
    origins: dict[str, str]
    digest: str = ""
    error: str = ""


def count_network(task: tuple[str, str, dict[str, list[Record]]]) -> CountedNetwork:
    """Compiles and runs a network, and counts its launches."""
    name, dtype, schedules = task
    try:
        return CountedNetwork(name, dtype, *_count(name, dtype, schedules), digest(name, dtype, schedules))
    except AdrenoSimError as error:
        return CountedNetwork(name, dtype, [], {}, error=str(error))


def _count(name: str, dtype: str, schedules: dict[str, list[Record]]) -> tuple[list[tuple[str, LaunchFigures]], dict[str, str]]:
    module, _ = make_network(name, dtype)
    device = open_device(DEVICE, checks="off")
    source = RecordSchedules(schedules)
    target = make_target("texture", device.info.limits)
    compiled = extract(lower(module, target, tuned=source, scoping=Scoping(weights="texture")), name)
    observer = LaunchFiguresByName(LaunchTimer(device))
    inputs = [np.zeros([int(size) for size in info.shape], info.dtype) for info in compiled.inputs]
    vm.run(compiled, inputs, device, observer)
    return observer.launches, source.applied


def show(network: CountedNetwork, choices: Choices) -> list[float] | None:
    """Prints the sums of a network, then the kernels that take longest. Returns published over other times by COLUMNS, if there
    is a published one."""
    if network.error:
        print(f"{network.name}, {network.dtype}: {network.error}", flush=True)
        return None
    seconds: dict[str, float] = {}
    kinds: dict[str, float] = {}
    for kernel, figures in network.launches:
        taken = float(predict(figures, RECORDS).seconds)
        seconds[kernel] = seconds.get(kernel, 0.0) + taken
        way = next((way for function, way in network.origins.items() if kernel.startswith(f"{function}_kernel")), "others")
        kinds[way] = kinds.get(way, 0.0) + taken
    convolutions = make_network(network.name, network.dtype)[1]
    whole = [1e3 * taken for taken in sum_network(sum(seconds.values()), convolutions, choices)]
    published = find_published(network.name, network.dtype)
    parts = "; ".join(f"{way} {1e3 * taken:.2f}" for way, taken in sorted(kinds.items()))
    known = f"published {published:.2f} ms; " if published else ""
    print(f"{network.name}, {network.dtype}: {known}{len(network.launches)} launches: {parts}")
    print(f"    {sum_records(convolutions, choices)}")
    for column, taken in zip(COLUMNS, whole, strict=True):
        ratio = f", published over it {published / taken:.3f}" if published else ""
        print(f"    by {column:<30} {taken:6.2f} ms{ratio}")
    for kernel in sorted(seconds, key=lambda kernel: -seconds[kernel])[:6]:
        print(f"    {1e3 * seconds[kernel]:7.3f}  {kernel[:110]}", flush=True)
    return [published / taken for taken in whole] if published else None


if __name__ == "__main__":
    sys.exit(main())
