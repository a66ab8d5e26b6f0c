"""Driver suite: what calls through the OpenCL driver cost over the same in process, and over memcpy.

`client.c` is compiled by zig cc against the driver's libOpenCL; `in_process.py` does the same without the driver. They take
turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adreno_sim.frontend.driver import find_zig
from adreno_sim.icd.build import SHIM, build_libraries
from adreno_sim.icd.environment import environment

HERE = Path(__file__).parents[1] / "driver"
DEVICE, CHECKS = "sim:adreno-740", "bounds"
TURNS, ROUNDS, QUICK = 5, 20, 5
MANY = 1000

Times = dict[str, tuple[float, float]]

GOALS = {
    "launch and finish, over in process": ("us", 20.0),
    "1,000 queued launches / in process": ("", 1.2),
    "setting an argument": ("us", 1.0),
    "writing 16 MiB / memcpy": ("", 1.3),
}


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure; a figure is of the fastest, or with statistic "median" of the middle rounds of all turns."""
    del only
    place = 0 if statistic == "least" else 1
    turns, rounds = (1, QUICK) if quick else (TURNS, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        client = compile_client("client.c", Path(folder))
        ours, plain = [], []
        for _ in range(turns):
            plain.append(_call([sys.executable, str(HERE / "in_process.py"), str(rounds), DEVICE, CHECKS], {}))
            ours.append(_call([client, str(rounds)], environment(device=DEVICE, checks=CHECKS)))
    driver, inside = ({name: _choose(times, name, place) for name in times[0]} for times in (ours, plain))
    figures = (
        1e6 * (driver["launch and finish"] - inside["launch and finish"]),
        driver["1,000 launches"] / inside["1,000 launches"],
        1e6 * driver["1,000 arguments"] / MANY,
        driver["16 MiB write"] / driver["16 MiB memcpy"],
    )
    rows = [{"what": name, "figure": figure} for name, figure in zip(GOALS, figures, strict=True)]
    for row in rows:
        say(_line(row))
    return {"suite": "driver", "rows": rows, "driver": driver, "in process": inside, "statistic": statistic}


def _choose(turns: list[Times], name: str, place: int) -> float:
    """The fastest of all turns, or the middle one of their middles."""
    found = sorted(turn[name][place] for turn in turns)
    return found[len(found) // 2] if place else found[0]


def compile_client(name: str, folder: Path) -> str:
    """The program of a C file of `driver`, in `folder`."""
    program, library = str(folder / "client"), build_libraries().loader
    words = ["-O2", "-std=gnu11", "-fno-sanitize=all", f"-I{SHIM}", str(HERE / name), f"-L{library}", "-l:libOpenCL.so.1"]
    zig = {name: str(folder / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    subprocess.run([find_zig(), "cc", *words, f"-Wl,-rpath,{library}", "-o", program], check=True, env={**os.environ, **zig})
    return program


def _call(command: list[str], more: dict[str, str]) -> Times:
    done = subprocess.run(command, env={**os.environ, **more}, check=True, stdout=subprocess.PIPE, text=True)
    found: Times = json.loads(done.stdout)
    return found


def _line(row: dict[str, Any]) -> str:
    unit, goal = GOALS[row["what"]]
    return f"{row['what']:36} {row['figure']:.2f} {unit or 'x'} (goal {goal:g})"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Driver", "", _METHOD, "", "| what | figure | goal |", "|---|---|---|"]
    for row in result["rows"]:
        unit, goal = GOALS[row["what"]]
        out.append(f"| {row['what']} | {row['figure']:.2f} {unit} | {goal:g} {unit} |")
    inside, driver = result["in process"], result["driver"]
    times = ", ".join(f"{name} {1e6 * seconds:.1f} us" for name, seconds in inside.items())
    through = ", ".join(f"{name} {1e6 * seconds:.1f} us" for name, seconds in driver.items())
    return [*out, "", f"In process: {times}. Through the driver: {through}.", ""]


_METHOD = (
    "A program in C through the OpenCL driver, against `device.launch` in a process of its own (`driver/in_process.py`): a "
    "kernel of 1,024 work-items at level bounds. They take turns; the driver's process and its server have the cores together."
)


def exit_code(result: dict[str, Any]) -> int:
    """0: figures alone."""
    return 0
