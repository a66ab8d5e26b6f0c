"""Predicted beside measured times of convolutions on an Adreno 530: python ci/bench/time_devices/adreno530.py --rows FILE.csv

A row of the file is a convolution (img,ichan,iy,ix,ochan,ky,kx,stride,pad) with its times under seven tunings of boda (T0 to T6):
the letters of a function, then milliseconds; x75>64 where the driver refused a group of 75, na where the tuning does not apply.
Kernels are rebuilt (`boda.py`) and timed on the built-in profile of the chip, to which nothing is fitted.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.device.protocol import Device
from adreno_sim.profiles.profile import load
from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.launches import LaunchTimer
from adreno_sim.timing.machines import machine_of_profile
from adreno_sim.timing.model import predict, stack
from time_devices.boda import FUNCTIONS, TUNINGS, Convolution, Generator
from time_devices.summary import correlate_ranks, summarize

PROFILE = "adreno-530"
DEVICE = f"sim:{PROFILE},checks=off"


@dataclass(frozen=True)
class Measured:
    """A time of a convolution under a tuning."""

    op: Convolution
    function: str
    tuning: str
    seconds: float


def read_rows(file: Path) -> tuple[list[Measured], dict[str, int]]:
    """Returns the times of a file, each kernel once, and how many cells have none, by why. ValueError for another file."""
    found: dict[tuple[object, ...], list[Measured]] = {}
    without = {"refused by the driver": 0, "not applicable": 0}
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            names = ("img", "ichan", "iy", "ix", "ochan", "ky", "kx", "stride", "pad")
            op = Convolution(*(int(row[name]) for name in names))
            for tuning, made in TUNINGS.items():
                cell = row[tuning]
                if cell == "na" or cell.startswith("x"):
                    without["not applicable" if cell == "na" else "refused by the driver"] += 1
                    continue
                parts = re.fullmatch(r"(c|t|k|s|ks)([0-9.e+]+)", cell)
                if parts is None:
                    raise ValueError(f"{tuning} of {row}: {cell!r}: expected a function and milliseconds")
                one = Measured(op, FUNCTIONS[parts[1]], tuning, float(parts[2]) * 1e-3)
                found.setdefault((op, one.function, made), []).append(one)
    means = [Measured(same[0].op, same[0].function, same[0].tuning, _mean(same)) for same in found.values()]
    return means, without


def _mean(same: Sequence[Measured]) -> float:
    return float(np.mean([one.seconds for one in same]))


@cache
def _open() -> tuple[Device, LaunchTimer]:
    device = open_device(DEVICE)
    return device, LaunchTimer(device)


def count(one: Measured) -> LaunchFigures:
    """Returns the figures of a kernel's launch."""
    device, timer = _open()
    made = Generator(one.op, TUNINGS[one.tuning]).make(one.function)
    storages = [device.allocate(4 * count) for count in made.floats]
    try:
        buffers = [device.view(storage, BufferSpec(storage.nbytes, "float32")) for storage in storages]
        kernel = device.build(made.source)["convolve"]
        estimate = timer.time(kernel, (made.groups * made.items,), (made.items,), buffers)
    finally:
        for storage in storages:
            device.free(storage)
    assert estimate is not None
    assert estimate.figures is not None
    return estimate.figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True, metavar="FILE", help="CSV of measured times")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the convolutions take every Nth (default 1)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write kernels, times and counts to this file (JSON)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes that count")
    options = parser.parse_args()
    try:
        rows, without = read_rows(options.rows)
    except (OSError, KeyError, ValueError) as error:
        parser.error(f"{options.rows}: expected a CSV file of measured times: {error}")
    chosen = set(list(dict.fromkeys(one.op for one in rows))[:: options.every])
    rows = [one for one in rows if one.op in chosen]
    with ProcessPoolExecutor(options.jobs) as pool:
        counted = list(pool.map(count, rows, chunksize=4))
    if options.keep is not None:
        pairs = zip(rows, counted, strict=True)
        options.keep.write_text(json.dumps([asdict(one) | {"figures": asdict(figures)} for one, figures in pairs]))
    predicted = np.asarray(predict(stack(counted), machine_of_profile(load(PROFILE)).machine).seconds)
    measured = np.array([one.seconds for one in rows])
    print(", ".join(f"{count} cells {why}" for why, count in without.items()))
    for function in (*FUNCTIONS.values(), ""):
        taken = np.array([not function or one.function == function for one in rows])
        if taken.any():
            print(summarize(function or "all", measured[taken], predicted[taken]))
    rank_operations(rows, measured, predicted)
    return 0


def rank_operations(rows: Sequence[Measured], measured: np.ndarray, predicted: np.ndarray) -> None:
    """Say how well the kernels of each convolution are ranked, and what is lost by taking the first."""
    agreement, lost = [], []
    for _, group in itertools.groupby(range(len(rows)), key=lambda number: rows[number].op):
        numbers = list(group)
        if len(numbers) >= 3:
            agreement.append(correlate_ranks(measured[numbers], predicted[numbers]))
            lost.append(measured[numbers][np.argmin(predicted[numbers])] / measured[numbers].min())
    print(
        f"{len(lost)} convolutions with three kernels or more: Spearman within each {np.mean(agreement):.2f} in the mean, "
        f"{np.median(agreement):.2f} in the median; the kernel that is predicted to be the fastest takes {np.median(lost):.2f} "
        f"times as long as the fastest in the median, {np.quantile(lost, 0.9):.2f} in nine of ten; it is the fastest for "
        f"{np.mean(np.array(lost) < 1.02):.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
