"""Predicted beside published times of networks: python ci/bench/time_networks/predict.py --records FILE.csv [NETWORK ...]

Networks are compiled for textures, with the schedules of tuning records where the file has them. Where it has not, some random
schedules of the convolution are counted, and the one of the lowest predicted time is taken, as the phone's networks were tuned
too. --own keeps the pipeline's own schedules in their place. What a network takes is the sum of its launches on the machine of
the records; published are times on a phone that is not named (apache/tvm, pull requests 16329 and 17609).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from time_records.candidates import draw_schedules
from time_records.count import DEVICE, count_records
from time_records.fit import sum_times
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
from adreno_sim.timing.model import predict, stack
from time_networks.architectures import NETWORKS, make_network
from time_networks.schedules import RecordSchedules

PUBLISHED = {
    "resnet-18": (10.58, 7.05),
    "resnet-34": (16.26, 11.35),
    "resnet-50": (19.19, 13.39),
    "densenet-121": (25.43, 12.38),
    "inception_v3": (40.41, 29.91),
    "mobilenet v1": (4.09, 2.8),
}
"""Milliseconds in float32 and float16."""
DTYPES = ("float32", "float16")
CONVOLUTION = 2
"""Of the launches of a record: the first two fill its textures, which a network does not."""


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
    parser.add_argument("--own", action="store_true", help="the pipeline's own schedules for all convolutions")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="stop after this time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--dtypes", nargs="+", default=DTYPES, choices=DTYPES)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    chosen = [(name, dtype) for name in options.networks for dtype in options.dtypes]
    known = read_networks(options.launches)
    for pair in chosen:
        if pair in known:
            show(known[pair])
    for network in count_networks([pair for pair in chosen if pair not in known], options, until):
        show(network)
        if not network.error and options.launches is not None:
            known[network.name, network.dtype] = network
            options.launches.write_text(json.dumps([asdict(one) for one in known.values()]), encoding="utf-8")
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


def count_networks(chosen: list[tuple[str, str]], options: argparse.Namespace, until: float) -> Iterator[CountedNetwork]:
    """The networks as they are counted, in other processes, as long as there is time."""
    schedules: dict[str, list[Record]] = {}
    if chosen and not options.own:
        records, _ = read_records(options.records)
        schedules = {"drawn": find_others(chosen, records, options, until), "recorded": records}
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        rows = pool.imap_unordered(count_network, [(*one, schedules) for one in chosen])
        for _ in chosen:
            try:
                yield rows.next(max(0.0, until - time.monotonic()) if until < float("inf") else None)
            except multiprocessing.TimeoutError:
                print(f"the others are not counted after {options.seconds:g} seconds")
                break


def find_others(
    chosen: Iterable[tuple[str, str]], records: list[Record], options: argparse.Namespace, until: float
) -> list[Record]:
    """For each convolution without a record: of some random schedules the one with the lowest predicted time."""
    known = {record.workload for record in records}
    wanted = {one.workload: one for pair in chosen for one in make_network(*pair)[1] if one.workload not in known}
    drawn = [draw_schedules(one, options.draw, 1) for one in wanted.values()]
    counted = iter(count_records([one for others in drawn for one in others], options.keep, options.jobs, until))
    found = []
    for others in drawn:
        rows = [(one, figures) for one in others if (figures := next(counted)) is not None]
        if rows:
            times = sum_times([stack([figures[CONVOLUTION] for _, figures in rows])], RECORDS)
            found.append(replace(rows[int(np.argmin(times))][0], seconds=float(min(times))))
    print(
        f"{len(wanted)} convolutions have no record: the best by the model of up to {options.draw} random schedules is taken for "
        f"{len(found)} of them",
        flush=True,
    )
    return found


@dataclass(frozen=True)
class CountedNetwork:
    """launches: kernel and figures of each. origins: of the schedules of its functions. error: why there are none."""

    name: str
    dtype: str
    launches: list[tuple[str, LaunchFigures]]
    origins: dict[str, str]
    error: str = ""


def count_network(task: tuple[str, str, dict[str, list[Record]]]) -> CountedNetwork:
    """Compiles and runs a network, and counts its launches."""
    name, dtype, schedules = task
    try:
        return CountedNetwork(name, dtype, *_count(name, dtype, schedules))
    except AdrenoSimError as error:
        return CountedNetwork(name, dtype, [], {}, str(error))


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


def show(network: CountedNetwork) -> None:
    """A line for the network, then the kernels that take longest."""
    if network.error:
        print(f"{network.name}, {network.dtype}: {network.error}", flush=True)
        return
    seconds: dict[str, float] = {}
    kinds: dict[str, float] = {}
    for kernel, figures in network.launches:
        taken = float(predict(figures, RECORDS).seconds)
        seconds[kernel] = seconds.get(kernel, 0.0) + taken
        way = next((way for function, way in network.origins.items() if kernel.startswith(f"{function}_kernel")), "others")
        kinds[way] = kinds.get(way, 0.0) + taken
    whole = 1e3 * sum(seconds.values())
    published = dict(zip(DTYPES, PUBLISHED.get(network.name, (float("nan"),) * 2), strict=True))[network.dtype]
    parts = "; ".join(f"{way} {1e3 * taken:.2f}" for way, taken in sorted(kinds.items()))
    print(f"{network.name}, {network.dtype}: predicted {whole:.2f} ms, published {published:.2f}, measured over predicted "
          f"{published / whole:.3f}; {len(network.launches)} launches: {parts}")  # fmt: skip
    for kernel in sorted(seconds, key=lambda kernel: -seconds[kernel])[:6]:
        print(f"    {1e3 * seconds[kernel]:7.3f}  {kernel[:110]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
