"""Judge suite: what second runs of launches cost (`engine/run/second_run.py`), unasked and of every launch.

A process checks a network several times, on a cache that an earlier one has filled. What counts is its processor time, of all
threads, and what second runs take of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import ask
from sections import list_wrong, table
from tvm_worker import light_model

NETWORK = "squeezenet"
LEVELS = ("bounds", "full")
ASKED = {"unasked": ("", 10), "all": ("all", 1)}
"""What the environment says, and how often a process then checks: what is unasked waits until that has taken some seconds."""
MOST = 0.02
"""The share of the time of the process that unasked second runs may take."""

CHECK = """
import dataclasses, json, sys, time
from adreno_sim.cli.main import main
from adreno_sim.engine.run.second_run import tally
codes = {main(["check", sys.argv[1], "--checks", sys.argv[2]]) for _ in range(int(sys.argv[3]))}
print("\\n" + json.dumps({**dataclasses.asdict(tally), "codes": sorted(codes), "process": time.process_time()}))
"""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Check the network if its name holds `only`; `quick`: at level full. statistic: there is but one run."""
    rows: list[Row] = []
    for level in LEVELS[1:] if quick else LEVELS:
        if only in NETWORK:
            rows += _rows(level)
            say("\n".join(map(_line, rows[-len(ASKED) :])))
    return {"suite": "judge", "missing": {}, "rows": rows}


def _rows(level: str) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _check(level, 1, "off", Path(folder))
        rows = []
        for name, (asked, times) in ASKED.items():
            row = {"name": NETWORK, "level": level, "which": name, **_check(level, times, asked, Path(folder))}
            row["share"] = row["seconds"] / row["process"]
            row["wrong"] = [f"{row['differing']} launches differ"] if row["differing"] or row["codes"] != [0] else []
            if not asked and row["share"] > MOST:
                row["wrong"].append(f"expected at most {MOST:.0%}")
            rows.append(row)
    return rows


def _check(level: str, times: int, asked: str, folder: Path) -> Row:
    """What the tally of a process says."""
    command = ["-c", CHECK, str(light_model(NETWORK)), level, str(times)]
    environment = {"ADRENO_SIM_CACHE_DIR": str(folder / "cache"), "ADRENO_SIM_SECOND_RUN": asked}
    found: Row = ask(command, folder, unset=("ADRENO_SIM_CACHE",), **environment)
    return found


def _line(row: Row) -> str:
    what = f"{row['process']:.2f} s, {row['seconds']:.2f} s of them second runs ({row['share']:.2%})"
    counts = f"{row['same']} the same, {row['undecided']} undecided"
    return f"{row['name']:12} {row['level']:7} {row['which']:8} {', '.join([what, counts, *row['wrong']])}"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = [
        "## Second runs",
        "",
        "`adreno-sim check` in a process that finds its kernels compiled: ten times for `unasked`, once for `all`.",
        "",
    ]
    heads = ["network", "level", "which launches", "process s", "second runs s", "share", "the same", "undecided", "differ"]
    return [*out, *table(heads, map(_cells, result["rows"])), "", *list_wrong(result["rows"], "name", "level", "which")]


def _cells(row: Row) -> list[str]:
    times = [f"{row['process']:.2f}", f"{row['seconds']:.2f}", f"{row['share']:.2%}"]
    return [row["name"], row["level"], row["which"], *times, *(str(row[name]) for name in ("same", "undecided", "differing"))]


def exit_code(result: dict[str, Any]) -> int:
    """1 where two codes disagree, or unasked second runs take too long."""
    return int(any(row["wrong"] for row in result["rows"]))
