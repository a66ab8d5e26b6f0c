"""Scaling suite: a kernel's time over its work, 1x to 64x, on one thread and on two."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from contextlib import ExitStack
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
SERIES: dict[str, tuple[dict[str, int], str]] = {
    "conv3x3_local": ({"C": 16, "K": 4, "H": 32, "W": 32}, "K"),
    "conv3x3_texture": ({"C": 16, "K": 4, "H": 28, "W": 28}, "K"),
    "depthwise_texture": ({"C": 8, "H": 56, "W": 56}, "C"),
    "layer_norm": ({"M": 64, "N": 768}, "M"),
    "matmul_registers": ({"M": 32, "N": 128, "K": 256}, "M"),
    "softmax_rows": ({"M": 16, "N": 1000}, "M"),
}
"""By kernel: its constants at 1x, and which of them grows."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the series of kernels whose name holds `only`; `quick`: fewer points. statistic: "median" or "least"."""
    factors = FACTORS[::3] if quick else FACTORS
    rows: list[Row] = []
    with ExitStack() as stack:
        children = {}
        for threads in THREADS:
            found, _ = stack.enter_context(opened(COLUMNS, threads=threads))
            children.update({f"{column}, {threads} thread{'s' * (threads > 1)}": child for column, child in found.items()})
        for kernel in SERIES:
            if only in kernel:
                for row in _series(kernel, children, factors, 3 if quick else ROUNDS, statistic):
                    rows.append(row)
                    say(_line(row))
    return {"suite": "scaling", "factors": list(factors), "rows": rows}


def scaled(kernel: str, factor: int) -> Case:
    """The case of a series at `factor` times its work."""
    constants, grows = SERIES[kernel]
    return make_case(kernel, "float", f"{factor}x", {**constants, grows: constants[grows] * factor})


def _series(kernel: str, children: dict[str, Child], factors: tuple[int, ...], rounds: int, statistic: str) -> list[Row]:
    seconds: dict[str, list[float]] = {name: [] for name in children}
    overhead = {}
    for factor in factors:
        case = scaled(kernel, factor)
        for child in children.values():
            child.call("load", case)
        if factor == factors[0]:
            overhead = _overhead(case, children, statistic)
        for name, samples in interleaved(children, rounds)[0].items():
            seconds[name].append(_value(samples, statistic))
    return [
        {"kernel": kernel, "column": name, "seconds": times, "overhead": overhead[name]} | _fit(factors, times, overhead[name])
        for name, times in seconds.items()
    ]


def _overhead(case: Case, children: dict[str, Child], statistic: str) -> dict[str, float]:
    """Seconds of launching one group, by column: what a launch costs besides its work, and a little work."""
    for child in children.values():
        child.call("resize", case.local_size)
    found = {name: _value(samples, statistic) for name, samples in interleaved(children, 5)[0].items()}
    for child in children.values():
        child.call("resize", case.global_size)
    return found


def _value(samples: Samples, statistic: str) -> float:
    return samples.median if statistic == "median" else min(samples.seconds)


def _fit(factors: tuple[int, ...], seconds: list[float], overhead: float) -> Row:
    """The exponent of the work by regression of logarithms, over the points that take twice the overhead or more."""
    points = [(math.log(f), math.log(s - overhead)) for f, s in zip(factors, seconds, strict=True) if s > 2 * overhead]
    if len(points) < 2:
        return {"exponent": None, "points": len(points)}
    x, y = np.array(points).T
    return {"exponent": float(np.polyfit(x, y, 1)[0]), "points": len(points)}


def _line(row: Row) -> str:
    exponent = "no exponent" if row["exponent"] is None else f"exponent {row['exponent']:.3f} over {row['points']} points"
    return f"{row['kernel']:20} {row['column']:22} {exponent}, overhead {row['overhead'] * 1e6:.0f} us"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    heads = ["kernel", "", *(f"{factor}x ms" for factor in result["factors"]), "one group us", "exponent"]
    out = ["## Scaling", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in result["rows"]:
        times = [*(f"{seconds * 1e3:.3f}" for seconds in row["seconds"]), f"{row['overhead'] * 1e6:.0f}"]
        exponent = "" if row["exponent"] is None else f"{row['exponent']:.3f}"
        out.append(f"| {' | '.join([row['kernel'], row['column'], *times, exponent])} |")
    return [*out, "", *_summary(result["rows"]), ""]


def _summary(rows: list[Row]) -> list[str]:
    exponents = [row["exponent"] for row in rows if row["exponent"] is not None]
    linear = sum(LINEAR[0] <= exponent <= LINEAR[1] for exponent in exponents)
    out = [f"{linear} of {len(exponents)} exponents lie in {LINEAR[0]} to {LINEAR[1]}."] if exponents else []
    for column in COLUMNS:
        one, two = ([row["seconds"][-1] for row in rows if row["column"].startswith(f"{column}, {n}")] for n in THREADS)
        if one and two:
            gain = statistics.geometric_mean(a / b for a, b in zip(one, two, strict=True))
            out.append(f"Two threads over one, {column}, largest work: {gain:.2f}x.")
    return out


def exit_code(result: dict[str, Any]) -> int:
    """0: figures alone."""
    return 0
