"""Network suite: every launch of a network on PoCL and on the simulator, and TVM's own llvm code of the same network.

The total of a device is the sum over its kernels of the median seconds of all launches of one run.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from children import CHECKED, NETWORKS, TVM, YARDSTICK, Child, ChildError, opened
from measure import COUNTS, geometric_mean

from .suite_kernels import error_of

MODELS = (("squeezenet", "buffer"), ("squeezenet", "texture"), ("resnet50", "texture"), ("inception_v1", "texture"))
ROUNDS = (3, 10)
"""Least and most rounds; more than the least only while a network has taken less than BUDGET."""
BUDGET = 20.0
TOLERANCE = 1e-3
"""Largest difference between a network's outputs and TVM's, in units of their rms."""
CPU = "TVM llvm"
RATIOS = {
    "unchecked / PoCL": ("unchecked", YARDSTICK),
    "bounds / PoCL": ("bounds", YARDSTICK),
    "bounds / unchecked": ("bounds", "unchecked"),
    "full / unchecked": ("full", "unchecked"),
    "unchecked / TVM llvm": ("unchecked", CPU),
    "bounds / TVM llvm": ("bounds", CPU),
}

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the networks whose "name/target" holds `only`; `quick`: squeezenet alone. statistic: "median" or "least"."""
    chosen = [pair for pair in MODELS if only in "/".join(pair)]
    if quick and not only:
        chosen = chosen[:2]
    reduce = min if statistic == "least" else statistics.median
    rows = []
    with tempfile.TemporaryDirectory() as folder, opened([YARDSTICK, *CHECKED], NETWORKS) as (children, missing):
        tvm = Child(TVM, "tvm")
        try:
            for network, target in chosen:
                rows.append(_row(network, target, Path(folder), tvm, children, missing, quick, reduce))
                say(_line(rows[-1]))
        finally:
            tvm.close()
    return {"suite": "networks", "missing": missing, "rows": rows}


def _row(
    network: str,
    target: str,
    folder: Path,
    tvm: Child,
    children: dict[str, Child],
    missing: dict[str, str],
    quick: bool,
    reduce: Callable[[list[float]], float],
) -> Row:
    row: Row = {"name": f"{network}/{target}", "failed": {}, "wrong": []}
    files = tvm.call("prepare", network, target, folder)
    tvm.call("load", network)
    tvm.call("run", 1)
    ready = _load(files, children, missing, row)
    taken = _rounds(ready, tvm, *((2, 2) if quick else ROUNDS))
    _compare(ready, tvm, row)
    row["kernels"] = {
        kernel: {column: reduce(seconds[kernel]) for column, seconds in taken["kernels"].items()}
        for kernel in next(iter(taken["kernels"].values()), {})
    }
    row["total"] = {column: sum(times[column] for times in row["kernels"].values()) for column in ready}
    row["total"][CPU] = reduce(taken["whole"][CPU])
    row["whole"] = {column: reduce(seconds) for column, seconds in taken["whole"].items()}
    row["rounds"] = len(taken["whole"][CPU])
    row["ratios"] = {name: _ratio(row["total"], *pair) for name, pair in RATIOS.items()}
    row["spread"] = {
        column: (max(seconds) - min(seconds)) / statistics.median(seconds) for column, seconds in taken["whole"].items()
    }
    row["means"] = {name: mean for name, pair in RATIOS.items() if CPU not in pair and (mean := _mean(row["kernels"], *pair))}
    return row


def _load(files: tuple[Path, Path], children: dict[str, Child], missing: dict[str, str], row: Row) -> dict[str, Child]:
    """The network on every device; a level of checks that is refused goes missing."""
    ready = {}
    for name, child in list(children.items()):
        try:
            child.call("load", *files, timeout=600.0)
        except ChildError as error:
            if "unsupported: checks=" in str(error):
                missing[name] = str(error)
                children.pop(name).close()
            else:
                row["failed"][name] = str(error)
            continue
        ready[name] = child
    return ready


def _rounds(ready: Mapping[str, Child], tvm: Child, least: int, most: int) -> dict[str, Any]:
    """By column: seconds of each kernel and of the whole run, in every round."""
    kernels: dict[str, dict[str, list[float]]] = {name: {} for name in ready}
    whole: dict[str, list[float]] = {name: [] for name in [*ready, CPU]}
    start, done = time.perf_counter(), 0
    while done < least or (done < most and time.perf_counter() - start < BUDGET):
        for name, child in ready.items():
            for kernel, seconds in child.call("run_kernels").items():
                kernels[name].setdefault(kernel, []).append(seconds)
            whole[name].append(child.call("run_whole"))
        whole[CPU] += tvm.call("run", 1)
        done += 1
    return {"kernels": kernels, "whole": whole}


def _compare(ready: Mapping[str, Child], tvm: Child, row: Row) -> None:
    """Outputs of every device against TVM's."""
    expected = tvm.call("outputs")
    row["error"] = {}
    for name, child in ready.items():
        row["error"][name] = max(map(error_of, child.call("outputs"), expected))
        if not row["error"][name] <= TOLERANCE:
            row["wrong"].append(f"{name} differs from {CPU} by {row['error'][name]:.1e} of the rms")


def _ratio(total: Mapping[str, float], over: str, under: str) -> float | None:
    return total[over] / total[under] if over in total and under in total else None


def _mean(kernels: Mapping[str, Mapping[str, float]], over: str, under: str) -> Row | None:
    """Over the kernels that take a millisecond on the yardstick: geometric mean of the ratio, the worst, how many."""
    ratios = {
        name: times[over] / times[under]
        for name, times in kernels.items()
        if over in times and under in times and times.get(YARDSTICK, 0.0) >= COUNTS
    }
    if not ratios:
        return None
    worst = max(ratios, key=ratios.__getitem__)
    return {"mean": geometric_mean(ratios.values()), "worst": ratios[worst], "kernel": worst, "count": len(ratios)}


def _line(row: Row) -> str:
    cells = [f"{name} {seconds * 1e3:.1f} ms" for name, seconds in row["total"].items()]
    cells += [f"{name} {value:.2f}" for name, value in row["ratios"].items() if value is not None]
    cells += [f"WRONG: {text}" for text in row["wrong"]] + [f"{name} failed: {text}" for name, text in row["failed"].items()]
    return f"{row['name']:34} {', '.join(cells)}"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = [
        "## Networks",
        "",
        "Sums over all launches of one run, in ms; TVM's llvm target runs the network scheduled for the CPU.",
        "",
    ]
    out += [f"No {name}: {why}." for name, why in result["missing"].items()] + [""] * bool(result["missing"])
    columns = [name for name in (YARDSTICK, *CHECKED, CPU) if any(name in row["total"] for row in result["rows"])]
    ratios = [name for name in RATIOS if any(row["ratios"][name] for row in result["rows"])]
    heads = ["network", *(f"{name} ms" for name in columns), *ratios, "rounds", "spread", "error / rms"]
    out += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in result["rows"]:
        cells = [row["name"], *(f"{row['total'][name] * 1e3:.1f}" if name in row["total"] else "" for name in columns)]
        cells += [f"{row['ratios'][name]:.2f}" if row["ratios"][name] else "" for name in ratios]
        cells += [str(row["rounds"]), f"{max(row['spread'].values()):.0%}", f"{max(row['error'].values(), default=0):.0e}"]
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "Kernels of a millisecond or more on PoCL:", "", *_means(result["rows"]), ""]
    return [*out, *(line for row in result["rows"] for line in _slowest(row, columns)), *_wrong(result["rows"])]


def _means(rows: list[Row]) -> list[str]:
    out = ["| network | ratio | kernels | geometric mean | worst | kernel |", "|---|---|---|---|---|---|"]
    for row in rows:
        for name, mean in row["means"].items():
            out.append(
                f"| {row['name']} | {name} | {mean['count']} | {mean['mean']:.2f} | {mean['worst']:.2f} | {mean['kernel']} |"
            )
    return out


def _slowest(row: Row, columns: list[str], count: int = 5) -> list[str]:
    """The kernels that take most of the checked run."""
    timed = [name for name in columns if name != CPU and name in row["total"]]
    column = "bounds" if "bounds" in timed else timed[-1]
    out = [f"{row['name']}, most of {column}:", "", f"| kernel | {' | '.join(f'{name} ms' for name in timed)} |"]
    out.append("|---" * (len(timed) + 1) + "|")
    for kernel, times in sorted(row["kernels"].items(), key=lambda item: -item[1][column])[:count]:
        out.append(f"| {kernel} | {' | '.join(f'{times[name] * 1e3:.3f}' for name in timed)} |")
    return [*out, ""]


def _wrong(rows: list[Row]) -> list[str]:
    texts = [f"* {row['name']}: {text}" for row in rows for text in [*row["wrong"], *row["failed"].values()]]
    return ["Wrong or failed:", "", *texts, ""] if texts else ["All outputs agree with TVM's llvm target.", ""]


def exit_code(result: dict[str, Any]) -> int:
    """1 where an output was wrong or a device failed."""
    return int(any(row["wrong"] or row["failed"] for row in result["rows"]))
