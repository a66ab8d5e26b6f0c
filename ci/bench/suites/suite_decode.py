"""Decode suite: one decode step of a quantised language model, every kernel judged: what the check takes.

The model has the structure and sizes of Llama 3.2 1B (q4f16, seeded weights) and runs over TVM's paged KV cache. What is measured
is processor seconds, of all threads and processes, from the module to the report, nothing kept on disk; memory; and the largest
GEMV of a layer beside NumPy's product of a float32 matrix of the same size. A level is a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODELS = {"llama-1b": (16, 128256), "two layers": (2, 4096)}
"""Name -> layers and vocabulary; the other sizes are those of the first."""

LEVELS = ("bounds", "full")
SECONDS, GIGABYTES, OF_BOUNDS, OF_NUMPY = 60.0, 8.0, 3.0, 2.0
"""What a step may take at level bounds, what its process may hold, how much longer level full may take, and a GEMV than NumPy."""
LIMIT = 1800.0
"""Seconds of the clock."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Check a step of the models whose name holds `only`; `quick`: of the small one alone. A time is taken once."""
    rows = []
    for name, (layers, vocabulary) in MODELS.items():
        if only in name and (name == "two layers") == quick:
            taken = {level: _measure(level, layers, vocabulary) for level in LEVELS}
            rows.append({"name": name, "levels": taken})
            say("; ".join(f"{name} {level}: {_line(one)}" for level, one in taken.items()))
    return {"suite": "decode", "rows": rows}


def _measure(level: str, layers: int, vocabulary: int) -> Row:
    """What the worker says, or why it said nothing."""
    command = [sys.executable, str(Path(__file__).parents[1].joinpath("decode_worker.py")), level, str(layers), str(vocabulary)]
    environment = {**os.environ, "ADRENO_SIM_CACHE": "off", "OPENBLAS_NUM_THREADS": "1"}  # others wait by running on
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True, env=environment)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {LIMIT:.0f} s"}
    except subprocess.CalledProcessError as error:
        return {"failed": (error.stderr.strip().splitlines() or [f"status {error.returncode}"])[-1]}
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def _line(row: Row) -> str:
    if "failed" in row:
        return f"failed: {row['failed']}"
    judged = ", ".join(f"{count} {status}" for status, count in row["status"].items())
    return (
        f"{row['seconds']:.1f} s, {row['memory']:.1f} GB, kernels {judged}, GEMV {row['gemv'] * 1e3:.1f} ms, "
        f"{row['gemv'] / row['numpy']:.2f} of NumPy's"
    )


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = [
        "## Decode steps of language models", "", _METHOD, "",
        "| model | level | s | full / bounds | GB | kernels | GEMV ms | GEMV / NumPy |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in result["rows"]:
        base = row["levels"]["bounds"].get("seconds")
        for level, one in row["levels"].items():
            if "failed" in one:
                out.append(f"| {row['name']} | {level} | failed: {one['failed']} | | | | | |")
                continue
            ratio = f"{one['seconds'] / base:.2f}" if base and level == "full" else ""
            judged = ", ".join(f"{count} {status}" for status, count in one["status"].items())
            out.append(
                f"| {row['name']} | {level} | {one['seconds']:.1f} | {ratio} | {one['memory']:.2f} | {judged} | "
                f"{one['gemv'] * 1e3:.2f} | {one['gemv'] / one['numpy']:.2f} |"
            )
    return [*out, "", *(f"* {text}" for text in misses(result)), ""]


_METHOD = (
    "One step of a model with the structure of Llama 3.2 1B (16 layers, q4f16, seeded weights) over TVM's paged KV cache: "
    "processor seconds of all threads and processes from the module to the report, compiling included, nothing kept on disk. "
    "GEMV: the largest product of a layer, in turns with NumPy's of a float32 matrix of its size, on one thread: BLAS's threads "
    "wait by running on, which would be counted as ours. "
    f"Wanted: {SECONDS:.0f} s at bounds, {OF_BOUNDS:.0f} times that at full, {GIGABYTES:.0f} GB, {OF_NUMPY:.0f} times NumPy."
)


def misses(result: dict[str, Any]) -> list[str]:
    """What is beyond what is wanted, in words."""
    found = []
    for row in result["rows"]:
        base = row["levels"]["bounds"].get("seconds", 0.0)
        for level, one in row["levels"].items():
            if "failed" in one:
                continue
            most = SECONDS if level == "bounds" else OF_BOUNDS * base
            if one["seconds"] > most:
                found.append(f"{row['name']}, {level}: {one['seconds']:.1f} s, wanted {most:.0f}")
            if one["memory"] > GIGABYTES:
                found.append(f"{row['name']}, {level}: {one['memory']:.1f} GB, wanted {GIGABYTES:.0f}")
            if one["gemv"] > OF_NUMPY * one["numpy"]:
                found.append(f"{row['name']}, {level}: a GEMV takes {one['gemv'] / one['numpy']:.2f} of NumPy, wanted {OF_NUMPY}")
    return found


def exit_code(result: dict[str, Any]) -> int:
    """1 where a process failed, a kernel was not judged, or a kernel is wrong."""
    taken = [one for row in result["rows"] for one in row["levels"].values()]
    return int(any("failed" in one or one["errors"] or set(one["status"]) != {"ok"} for one in taken))
