"""Compile suite: all kernels of a network from source to machine code, on PoCL and on the simulator, cold and warm.

Machine code is made when the work-group size is known: build plus what a kernel's first launch takes beyond its second. What
a machine has built ahead, by threads, counts as far as it is waited for, and where it slows a first launch.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import NETWORKS, TVM, YARDSTICK, Child, ChildError, device_of

MODELS = (("resnet50", "texture"),)
QUICK = (("squeezenet", "texture"),)
COLUMNS = (YARDSTICK, "unchecked cold", "bounds cold", "unchecked warm", "bounds warm")
"""Cold: without the cache on disk. Warm: a new process, after another one filled the cache."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Compile the networks whose "name/target" holds `only`; `quick`: squeezenet. Every column is taken once, or the least of
    two with statistic "least"."""
    rows, missing = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for network, target in QUICK if quick else MODELS:
            if only not in f"{network}/{target}":
                continue
            files = _prepare(network, target, Path(folder))
            row: Row = {"name": f"{network}/{target}", "seconds": {}}
            for column in COLUMNS:
                try:
                    taken = [_compile(column, files, Path(folder)) for _ in range(2 if statistic == "least" else 1)]
                except ChildError as error:
                    missing[column] = str(error)
                    continue
                row["seconds"][column] = min(taken, key=lambda kernels: sum(kernels.values()))
                say(f"{row['name']:24} {column:16} {_told(row['seconds'][column])}")
            rows.append(row)
    return {"suite": "compile", "missing": missing, "rows": rows}


def _prepare(network: str, target: str, folder: Path) -> tuple[Path, Path]:
    tvm = Child(TVM, "tvm")
    try:
        files: tuple[Path, Path] = tvm.call("prepare", network, target, folder)
        return files
    finally:
        tvm.close()


def _compile(column: str, files: tuple[Path, Path], folder: Path) -> dict[str, float]:
    """Seconds by kernel, in a new process."""
    level, _, state = column.partition(" ")
    if state != "warm":
        return _times(level, files, {"ADRENO_SIM_CACHE": "off"})
    cache = {"ADRENO_SIM_CACHE_DIR": str(folder / f"cache-{level}")}
    if not (folder / f"cache-{level}").exists():
        _times(level, files, cache, cached=True)
    return _times(level, files, cache, cached=True)


def _times(level: str, files: tuple[Path, Path], environment: dict[str, str], cached: bool = False) -> dict[str, float]:
    child = Child(NETWORKS, device_of(level, cache=cached), environment=environment)
    try:
        child.call("open_device")
        taken = child.call("load", *files, timeout=600.0)
        return {kernel: build + taken["first"].get(kernel, 0.0) for kernel, build in taken["build"].items()}
    finally:
        child.close()


def _told(kernels: dict[str, float]) -> str:
    each = sorted(seconds * 1e3 for seconds in kernels.values())
    return f"{len(each)} kernels, {sum(each) / 1e3:.2f} s, median {statistics.median(each):.1f} ms, most {each[-1]:.1f} ms"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Compiling", ""]
    out += [f"No {name}: {why}." for name, why in result["missing"].items()] + [""] * bool(result["missing"])
    out += ["| network | | kernels | total s | median ms | most ms | total / PoCL |", "|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        yardstick = row["seconds"].get(YARDSTICK)
        for column, kernels in row["seconds"].items():
            each, total = list(kernels.values()), sum(kernels.values())
            ratio = f"{total / sum(yardstick.values()):.3f}" if yardstick else ""
            cells = [row["name"], column, str(len(each)), f"{total:.2f}", f"{statistics.median(each) * 1e3:.1f}"]
            out.append(f"| {' | '.join([*cells, f'{max(each) * 1e3:.1f}', ratio])} |")
    return [*out, ""]


def exit_code(result: dict[str, Any]) -> int:
    """0: figures alone."""
    return 0
