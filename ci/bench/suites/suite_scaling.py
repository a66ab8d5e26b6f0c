"""Scaling suite: how a kernel's time grows with its work, 1x to 64x, on one thread and on two.

What is measured is the engine: how the cost of a launch grows with the groups in it. So the rest is kept the same along a
series. It is one program and one set of arguments, made for the largest launch; a launch of less work covers a part of the
same global size. Work grows in one of two ways:

* along the axis that holds blocks of output channels: every group does the same, and reads the same input or, in
  depthwise_texture, a separate layer;
* by passes over the same data: the third axis, which the kernel does not use, has as many groups as there are passes.

Memory stays in one regime. What passes go over fits the cache of one core. The convolutions do hundreds of operations for
each byte that grows with the work. depthwise_texture streams: already its least launch reads and writes several times the
cache of one core, the largest some hundred MB.

All launches lie well above what a launch costs by itself. That is measured in the same rounds by a launch of one group, less
the time of a group in the largest launch, and subtracted. A second thread is woken only where it pays, and waking it takes
as long as tens of groups: series of two threads begin at more work. Sizes and devices take turns within each round; times are
medians over the rounds; the exponent is the slope of the logarithms over all points.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Case, make_case
from children import Child, opened
from measure import Samples, interleaved

FACTORS = (1, 2, 4, 8, 16, 32, 64)
THREADS = (1, 2)
COLUMNS = ("unchecked", "bounds")
ROUNDS = 10
LINEAR = (0.95, 1.05)
"""Exponents that count as linear."""

Row = dict[str, Any]
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Series:
    """One kernel. constants: its own, at one unit of work. grows: which of them is as many times that as there are units; empty
    where units are passes over the same data. start: units at 1x, by threads."""

    constants: dict[str, int]
    grows: str
    start: tuple[int, int]

    def units(self, threads: int, factor: int) -> int:
        return self.start[threads - 1] * factor

    def case(self, kernel: str, threads: int) -> Case:
        """The launch whose program and arguments serve the whole series."""
        most = self.units(threads, FACTORS[-1])
        grown = {self.grows: self.constants[self.grows] * most} if self.grows else {}
        return make_case(kernel, "float", "scaling", {**self.constants, **grown})

    def global_size(self, case: Case, units: int) -> Size:
        """What is launched for so many units: each is one group along the third axis."""
        x, y, _ = case.global_size
        return x, y, case.local_size[2] * units


SERIES = {
    "conv3x3_local": Series({"C": 32, "K": 4, "H": 32, "W": 32}, "K", (8, 32)),
    "conv3x3_texture": Series({"C": 32, "K": 4, "H": 28, "W": 28}, "K", (12, 48)),
    "depthwise_texture": Series({"C": 4, "H": 112, "W": 112}, "C", (16, 32)),
    "layer_norm": Series({"M": 64, "N": 768}, "", (8, 32)),
    "matmul_registers": Series({"M": 128, "N": 128, "K": 128}, "", (8, 32)),
    "softmax_rows": Series({"M": 32, "N": 1000}, "", (6, 24)),
}


@dataclass
class At:
    """A child that launches one size, for `interleaved`."""

    child: Child
    size: Size

    def call(self, method: str, *args: Any) -> Any:
        self.child.call("resize", self.size)
        return self.child.call(method, *args)


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the series of kernels whose name holds `only`; `quick`: fewer points. statistic: "median" or "least"."""
    factors = FACTORS[::3] if quick else FACTORS
    rows: list[Row] = []
    with ExitStack() as stack:
        children = {}
        for threads in THREADS:
            found, _ = stack.enter_context(opened(COLUMNS, threads=threads))
            children.update({(column, threads): child for column, child in found.items()})
        for kernel in SERIES:
            if only in kernel:
                for row in _series(kernel, children, factors, 3 if quick else ROUNDS, statistic):
                    rows.append(row)
                    say(_line(row))
    return {"suite": "scaling", "factors": list(factors), "rows": rows}


def _series(
    kernel: str, children: dict[tuple[str, int], Child], factors: tuple[int, ...], rounds: int, statistic: str
) -> list[Row]:
    """A row for each child."""
    series = SERIES[kernel]
    launches: dict[tuple[str, int, int], At] = {}
    cases = {threads: series.case(kernel, threads) for threads in THREADS}
    for (column, threads), child in children.items():
        case = cases[threads]
        child.call("load", case)
        for factor in (0, *factors):
            size = series.global_size(case, series.units(threads, factor)) if factor else case.local_size
            launches[column, threads, factor] = At(child, size)
    for launch in launches.values():
        launch.call("run", 2)  # compiles, and learns how long a group takes
    taken, _ = interleaved(launches, rounds)
    return [
        _row(
            kernel,
            column,
            threads,
            cases[threads],
            [_value(taken[column, threads, f], statistic) for f in (0, *factors)],
            factors,
        )
        for column, threads in children
    ]


def _row(kernel: str, column: str, threads: int, case: Case, seconds: list[float], factors: tuple[int, ...]) -> Row:
    """One series. `seconds`: of one group, then of each factor."""
    one, *times = seconds
    size = SERIES[kernel].global_size(case, SERIES[kernel].units(threads, factors[-1]))
    groups = math.prod(-(-whole // part) for whole, part in zip(size, case.local_size, strict=True))
    overhead = one - times[-1] / groups
    slope = np.polyfit(np.log(factors), np.log(np.maximum(np.subtract(times, overhead), 1e-9)), 1)[0]
    return {
        "kernel": kernel, "column": f"{column}, {threads} thread{'s' * (threads > 1)}", "units": SERIES[kernel].units(threads, 1),
        "seconds": times, "overhead": overhead, "exponent": float(slope),
    }  # fmt: skip


def _value(samples: Samples, statistic: str) -> float:
    return samples.median if statistic == "median" else min(samples.seconds)


def _line(row: Row) -> str:
    return f"{row['kernel']:20} {row['column']:22} exponent {row['exponent']:.3f}, overhead {row['overhead'] * 1e6:.0f} us"


def _work(row: Row) -> str:
    """What 1x is."""
    series = SERIES[row["kernel"]]
    return f"{series.grows} = {series.constants[series.grows] * row['units']}" if series.grows else f"{row['units']} passes"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    heads = ["kernel", "", "1x is", *(f"{factor}x ms" for factor in result["factors"]), "launch us", "exponent"]
    out = ["## Scaling", "", _METHOD, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in result["rows"]:
        times = [*(f"{seconds * 1e3:.3f}" for seconds in row["seconds"]), f"{row['overhead'] * 1e6:.0f}"]
        cells = [row["kernel"], row["column"], _work(row), *times, f"{row['exponent']:.3f}"]
        out.append(f"| {' | '.join(cells)} |")
    return [*out, "", *_summary(result["rows"]), ""]


_METHOD = (
    "How the cost of a launch grows with the groups in it: one program and one set of arguments a series, launched over more and "
    "more of its third axis. That holds blocks of output channels (K, C), or passes over the same data, which fits the cache of "
    "one core; depthwise_texture streams more than that cache already at 1x. Launch: what one costs without its work, from a "
    "launch of one group in the same rounds; it is subtracted before the exponent is fitted. Series of two threads begin at more "
    "work, as waking the second takes time of its own. `suite_scaling.py` says why."
)


def _summary(rows: list[Row]) -> list[str]:
    linear = sum(LINEAR[0] <= row["exponent"] <= LINEAR[1] for row in rows)
    out = [f"{linear} of {len(rows)} exponents lie in {LINEAR[0]} to {LINEAR[1]}."] if rows else []
    for column in COLUMNS:
        one, two = ([r["seconds"][-1] / r["units"] for r in rows if r["column"].startswith(f"{column}, {n}")] for n in THREADS)
        if one and two:
            gain = statistics.geometric_mean(a / b for a, b in zip(one, two, strict=True))
            out.append(f"Two threads over one, {column}, time of a unit in the largest launches: {gain:.2f}x.")
    return out


def exit_code(result: dict[str, Any]) -> int:
    """0: figures alone."""
    return 0
