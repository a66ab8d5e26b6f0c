"""Kernels of the corpora under every reading of OpenCL: what depends on what, and the time beside one launch.

python tests/kernels/corpora/readings.py FOLDER --count 60     # FOLDER of ci/corpora.sh; --only ggml, --seed N, --findings
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from corpora.campaign import gather  # noqa: E402
from corpora.launches import make_launch  # noqa: E402
from corpora.source import Source  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.findings import Severity  # noqa: E402
from adreno_sim.readings.elements import as_elements, find_element_type  # noqa: E402
from adreno_sim.readings.launches import LaunchReadings  # noqa: E402
from adreno_sim.readings.table import READINGS  # noqa: E402

DEVICE = "sim:adreno-740"
ONE_OF_A_SOURCE = 2
"""The most kernels that are taken of one source: many differ by a number only."""


@dataclass
class Tally:
    """launches: without errors of their own, that ran under every reading. seconds: of these launches, more: of all under
    readings, of the processor, with what they compile. tried, differs: launches by reading."""

    launches: int = 0
    seconds: float = 0.0
    more: float = 0.0
    runs: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    differs: Counter[str] = field(default_factory=Counter)

    def markdown(self) -> str:
        """The table for docs/readings.md."""
        rows = [f"| `{one.name}` | {self.tried[one.name]} | {self.differs[one.name]} |" for one in READINGS]
        head = ["| Reading | Launches that ran under it | That depend on it |", "|---|---|---|"]
        told = f"{self.launches} launches, {self.runs} more under readings"
        took = f"{self.seconds:.1f} s of the processor for one of each, {self.more:.1f} s for all readings"
        return "\n".join([told, took, "", *head, *rows])


def try_kernels(sources: Sequence[Source], count: int, seed: int, shows: bool) -> Tally:
    """Run `count` kernels, drawn by the seed, that have no errors at level full in a launch of small numbers."""
    tally = Tally()
    for source, name in _draw(sources, seed):
        if tally.launches >= count:
            break
        device = adreno_sim.open_device(DEVICE, checks="full", timeout=5.0, cache=False)
        try:
            kernel = device.build(source.text, source.options)[name]
            made = make_launch(device, kernel, f"{source.name}:{name}")
            _fill(device, kernel, made.args, seed)
            _try(device, kernel, made, tally, f"{source.name}:{name}" if shows else "")
        except AdrenoSimError:
            continue
    return tally


def _draw(sources: Sequence[Source], seed: int) -> Iterator[tuple[Source, str]]:
    device = adreno_sim.open_device(DEVICE, cache=False)
    for source in random.Random(seed).sample(sources, len(sources)):
        try:
            names = device.build(source.text, source.options).kernel_names()
        except AdrenoSimError:
            continue
        for name in random.Random(seed).sample(names, min(ONE_OF_A_SOURCE, len(names))):
            yield source, name


def _fill(device: Any, kernel: Any, args: Sequence[Any], seed: int) -> None:
    """Fractions that are no sums of few powers of two, so that arithmetic rounds, wherever the kernel reads floats."""
    chance = np.random.default_rng(seed)
    for param, view in zip(kernel.function.params, args, strict=True):
        if hasattr(view, "storage"):
            held = device.read(view)
            elements = as_elements(held, find_element_type(kernel.function, param, view, stores=False))
            if elements.dtype.kind == "f":
                fractions = chance.random(elements.shape).astype(elements.dtype)
                device.write(view, fractions.view(held.dtype).reshape(held.shape))


def _try(device: Any, kernel: Any, made: Any, tally: Tally, shown: str) -> None:
    readings = LaunchReadings(device, READINGS, {})
    sizes = made.global_size, made.local_size, None
    readings.begin(kernel, sizes, made.args)
    start = time.process_time()
    found = device.launch(kernel, made.global_size, made.local_size, made.args).findings
    if any(finding.severity is Severity.ERROR for finding in found):
        return
    seconds, start = time.process_time() - start, time.process_time()
    depends = readings.end(found)
    tally.more += time.process_time() - start
    tally.seconds += seconds
    tally.launches, tally.runs = tally.launches + 1, tally.runs + readings.report.launches
    tally.tried.update({one.reading for one in readings.report.tried})
    tally.differs.update({one.reading for one in readings.report.tried if one.differs})
    for finding in depends if shown else ():
        print(f"{shown}:{finding.line}: {finding.message}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="sources whose names hold this, as ggml/")
    parser.add_argument("--findings", action="store_true", help="show each finding")
    args = parser.parse_args()
    print(try_kernels(gather(args.folder, args.only), args.count, args.seed, args.findings).markdown())


if __name__ == "__main__":
    main()
