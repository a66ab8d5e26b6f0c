"""Clients suite: programs that are bound by compiling, under `adreno-sim run` and on PoCL: wall and processor seconds.

With ADRENO_SIM_BENCH_BEFORE, the folder of an older checkout with its environment in .venv, that one takes its turn as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import YARDSTICK, import_path
from sections import list_wrong, table

from .spent import BEFORE, counting

CLIENT = Path(__file__).parents[1] / "driver" / "many_programs.py"
CLIENTS = {
    "1 program of 1 kernel": (1, 1, 1),
    "12 programs of 3 kernels": (12, 1, 3),
    "12 programs of 3 kernels, 4 threads": (12, 4, 3),
}
"""Programs, threads, kernels of a program."""
ROUNDS = 3

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run the clients whose name holds `only`; `quick`: one round. statistic: the least counts in any case."""
    before = os.environ.get(BEFORE)
    trees = {"before": Path(before)} if before else {}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        commands = {name: [str(tree / ".venv/bin/adreno-sim"), "run", "--"] for name, tree in trees.items()}
        commands["this"] = [sys.executable, "-m", "adreno_sim", "run", "--"]
        for command in commands.values():
            _measure(command, (1, 1, 1), 0, folder)  # compiles the driver and what every kernel needs
        for name in (name for name in CLIENTS if only in name):
            seconds: dict[str, list[tuple[float, float]]] = {}
            wrong: list[str] = []
            for _ in range(1 if quick else ROUNDS):
                salt = time.time_ns() % 10**7
                for column, command in {YARDSTICK: [], **commands}.items():
                    for again in ("first", "second")[: 1 if column == YARDSTICK else 2]:
                        try:
                            taken = _measure(command, CLIENTS[name], salt, folder)
                            seconds.setdefault(f"{column} {again}", []).append(taken)
                        except subprocess.CalledProcessError as error:
                            wrong.append(f"{column}: {error.stderr[-300:]}")
            least = {column: tuple(map(min, zip(*taken, strict=True))) for column, taken in seconds.items()}
            rows.append({"name": name, "least": least, "wrong": wrong})
            say(f"{name}: " + ", ".join(f"{column} {wall:.2f} s ({cpu:.2f})" for column, (wall, cpu) in least.items()))
    return {"suite": "clients", "rows": rows}


def _measure(command: list[str], client: tuple[int, int, int], salt: int, folder: str) -> tuple[float, float]:
    """Seconds by the clock, and of processors, of the client, and of its server where `command` runs it."""
    platform = "QUALCOMM" if command else "Portable Computing Language"
    words = [*command, sys.executable, str(CLIENT), *map(str, (*client, salt)), platform]
    tree = command[0].split(os.sep + ".venv" + os.sep)[0] if command and command[0] != sys.executable else ""
    found = {"ADRENO_SIM_CACHE_DIR": f"{folder}/{bool(tree)}", "POCL_CACHE_DIR": f"{folder}/pocl", "PYOPENCL_NO_CACHE": "1"}
    if not tree:
        found["PYTHONPATH"] = import_path()
    with counting() as spent:
        subprocess.run(words, env={**os.environ, **found}, check=True, capture_output=True, text=True)
    return spent.wall, spent.processor


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Clients", "", _METHOD, ""]
    heads = ["client", "", "wall s", "processor s", "wall / PoCL", "processor / PoCL"]
    return [
        *out,
        *table(heads, (cells for row in result["rows"] for cells in _cells(row))),
        "",
        *list_wrong(result["rows"], "name"),
    ]


def _cells(row: Row) -> list[list[str]]:
    yardstick = row["least"].get(f"{YARDSTICK} first")
    lines = []
    for column, taken in row["least"].items():
        ratios = [f"{mine / theirs:.2f}" for mine, theirs in zip(taken, yardstick, strict=True)] if yardstick else ["", ""]
        lines.append([row["name"], column, *(f"{seconds:.2f}" for seconds in taken), *ratios])
    return lines


_METHOD = (
    "Python programs that build OpenCL programs and launch each kernel once (`driver/many_programs.py`), with the start of all "
    "processes, under `adreno-sim run` at level full and on PoCL. First: no cache knows the kernels; second: the same once more. "
    "The fastest of all rounds, in which all take turns."
)


def exit_code(result: dict[str, Any]) -> int:
    """1 where a client failed."""
    return int(any(row["wrong"] for row in result["rows"]))
