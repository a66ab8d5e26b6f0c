"""Predicted beside measured times of an Adreno: python ci/bench/adreno_time.py --records FILE.csv [--keep COUNTS.json] [--fit]

Rebuilds what each record of a file launches (two copies into textures, and the convolution), counts it in the simulator, and
predicts its time. A table by operator and type says how far predictions are off, as factors. --fit fits the constants to the file
in addition: to all of it, and once without each network in turn, which is judged then. --rank N draws N random schedules for each
of 80 workloads, and says where the one that won on the device ranks among them. docs/time.md says what the columns are.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from time_records.candidates import draw_schedules
from time_records.count import count_records
from time_records.fit import FITTED, fit, sum_times
from time_records.record import Record, is_slow, read_records

from adreno_sim import AdrenoSimError
from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.machines import RECORDS
from adreno_sim.timing.model import stack

SLOWER = 1.43
"""By which the times of a session with a lower clock are longer (`record.is_slow`)."""
LAUNCHES = 3
"""Of a record: two copies and the convolution."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True, metavar="FILE", help="CSV of records")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="read counts from this file where it has them, and add the others"
    )
    parser.add_argument("--fit", action="store_true", help="fit the constants, also without each network in turn")
    parser.add_argument("--rank", type=int, default=0, metavar="N", help="where the winner ranks among N random schedules")
    parser.add_argument("--workloads", type=int, default=80, metavar="N", help="of --rank (default 80)")
    parser.add_argument("--seed", type=int, default=1, help="of --rank (default 1)")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="stop counting after this time")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="records that are farthest off (default 10)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes that count")
    options = parser.parse_args()
    try:
        records, others = read_records(options.records)
    except (OSError, KeyError, ValueError) as error:
        parser.error(f"{options.records}: expected a CSV file of tuning records: {error!r}")
    for operator, count in others.items():
        print(f"{operator}: {count} records left out: no texture, or another algorithm; their kernels are not rebuilt")
    options.until = time.monotonic() + options.seconds
    try:
        found = count_records(records, options.keep, options.jobs, options.until)
    except AdrenoSimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    counted = [figures for figures in found if figures is not None]
    if len(counted) < len(records):
        print(f"error: {len(records) - len(counted)} records are not counted after {options.seconds:g} seconds", file=sys.stderr)
        return 2
    clock = np.array([SLOWER if is_slow(record) else 1.0 for record in records])
    measured = np.array([record.seconds for record in records])
    launches = [stack([figures[number] for figures in counted]) for number in range(LAUNCHES)]
    predicted = sum_times(launches, RECORDS) * clock
    report("the machine of the records", records, measured, predicted)
    if options.fit:
        fitted = fit(launches, measured / clock, RECORDS)
        report("fitted to the file", records, measured, sum_times(launches, fitted) * clock)
        print("  " + ", ".join(f"{name} {asdict(fitted)[name]:.3g}" for name in FITTED))
        predicted = np.zeros_like(measured)
        for network in split_networks(records):
            rest = np.setdiff1d(np.arange(len(records)), network)
            alone = fit(choose(launches, rest), (measured / clock)[rest], RECORDS)
            predicted[network] = sum_times(choose(launches, network), alone) * clock[network]
        report("each network by a fit to the others", records, measured, predicted)
    show_worst(records, measured, predicted, options.worst)
    if options.rank:
        rank(records, options)
    return 0


def rank(records: list[Record], options: argparse.Namespace) -> None:
    """Where the measured winner of a workload is among random schedules by predicted time: the share that is predicted faster."""
    chosen = random.Random(options.seed).sample(records, min(options.workloads, len(records)))
    drawn = [draw_schedules(record, options.rank, options.seed) for record in chosen]
    every = [one for record, others in zip(chosen, drawn, strict=True) for one in (record, *others)]
    counted = iter(count_records(every, options.keep, options.jobs, options.until))
    places, bests, schedules = [], [], 0
    for record, others in zip(chosen, drawn, strict=True):
        rows = [next(counted) for _ in range(1 + len(others))]
        figures = [row for row in rows if row is not None]
        if len(figures) < len(rows):
            continue
        times = sum_times([stack([one[number] for one in figures]) for number in range(LAUNCHES)], RECORDS)
        faster = int(np.sum(times[1:] < times[0]))
        places.append(faster / len(others) if others else 0.0)
        own = sum_times([stack([one[-1] for one in figures])], RECORDS)
        bests += [float(min(own[1:]) / own[0])] if others else []
        schedules += len(others)
        if places[-1] > 0.1:
            print(f"  {faster:2} of {len(others)} before the winner, the fastest in {min(times[1:]) / times[0]:.2f} of its time: "
                  f"{describe(record)}")  # fmt: skip
    if len(places) < len(chosen):
        print(f"{len(chosen) - len(places)} workloads are left out: their schedules are not counted after {options.seconds:g} s")
    if places:
        tenth = float(np.mean([place <= 0.1 for place in places]))
        print(f"\n{len(places)} workloads: {schedules} random schedules; in the median {np.median(places):.1%} are")
        print(f"predicted to be faster than the one that won; it is in the top tenth for {tenth:.0%}. Without the copies,")
        print(f"the best random schedule takes {np.median(bests):.2f} times as long as the one that won in the median,")
        print(f"{np.mean(bests):.2f} in the mean, {np.max(bests):.2f} at the most")


def choose(launches: list[LaunchFigures], rows: np.ndarray) -> list[LaunchFigures]:
    return [LaunchFigures(**{name: values[rows] for name, values in vars(figures).items()}) for figures in launches]


def split_networks(records: list[Record]) -> Iterator[np.ndarray]:
    """The rows of each network: a file has those of halves first, then those of floats, of one network after the other."""
    kinds = [record.half for record in records]
    starts = [0, *(row for row in range(1, len(kinds)) if kinds[row] and not kinds[row - 1])]
    for start, end in zip(starts, [*starts[1:], len(records)], strict=True):
        yield np.arange(start, end)


def report(title: str, records: list[Record], measured: np.ndarray, predicted: np.ndarray) -> None:
    """A table of how far times are off: all of them, and by operator and type."""
    print(f"\n{title}")
    print(f"{'operator':<34} {'type':<8} {'rows':>5} {'Spearman':>9} {'median':>7} {'mean':>7} {'90%':>7} {'worst':>7}")
    kinds = sorted({(record.operator, record.dtype) for record in records})
    for operator, dtype in [*kinds, ("all", "")]:
        rows = np.array([operator == "all" or (record.operator, record.dtype) == (operator, dtype) for record in records])
        off = np.exp(np.abs(np.log(measured[rows] / predicted[rows])))
        figures = [
            correlate_ranks(measured[rows], predicted[rows]),
            *map(float, (np.median(off), off.mean(), np.quantile(off, 0.9), off.max())),
        ]
        print(f"{operator:<34} {dtype:<8} {rows.sum():5} {figures[0]:9.4f} " + " ".join(f"{value:7.3f}" for value in figures[1:]))


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's coefficient: of ranks, those of equal values being their mean."""

    def rank(values: np.ndarray) -> np.ndarray:
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])

    return float(np.corrcoef(rank(first), rank(second))[0, 1]) if len(first) > 1 else float("nan")


def show_worst(records: list[Record], measured: np.ndarray, predicted: np.ndarray, some: int) -> None:
    order = np.argsort(-np.abs(np.log(measured / predicted)))[:some]
    print("\nfarthest off, measured over predicted")
    for row in order:
        print(f"  {measured[row] / predicted[row]:5.2f}  {describe(records[row])}: {measured[row] * 1e6:.0f} us")


def describe(r: Record) -> str:
    tiles = " ".join(f"{name} {split.parts}x{split.items}" for name, split in (("fc", r.fc), ("y", r.y), ("x", r.x)))
    return f"{r.operator.split('_')[0]:<9} {r.dtype} {r.shape} {r.weight} {tiles}"


if __name__ == "__main__":
    sys.exit(main())
