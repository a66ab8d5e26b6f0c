"""Waiting suite: what somebody waits for: a check, a verdict on a kernel, a small program; on an empty cache, then again.

With ADRENO_SIM_BENCH_BEFORE, an older checkout takes its turn: the ratios are over it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from children import import_path
from sections import list_wrong, table
from tvm_worker import light_model

from .spent import BEFORE, Spent, counting
from .suite_driver import compile_client

EXAMPLE = Path(__file__).parents[3] / "examples" / "kernel"
ROUNDS = {"check squeezenet": 3, "check resnet50": 2, "kernel": 9, "run": 9}
COLUMNS = ("first", "second")
GOALS = {
    ("check squeezenet", "first"): ("wall", 0.51),
    ("check squeezenet", "second"): ("wall", 0.65),
    ("check resnet50", "first"): ("wall", 0.52),
    ("check resnet50", "second"): ("wall", 0.71),
    ("kernel", "first"): ("processor", 0.6),
    ("run", "second"): ("wall", 0.33),
}
"""Of the older checkout's seconds; by the clock or of processors."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the commands whose name holds `only`; `quick`: one round, without resnet50. The least counts."""
    before, rows = os.environ.get(BEFORE), []
    commands = {"before": [str(Path(before) / ".venv/bin/adreno-sim")]} if before else {}
    commands["this"] = [sys.executable, "-m", "adreno_sim"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, find_words in _cases(folder).items():
            if only in case and not (quick and "resnet" in case):
                rows.append(_row(case, find_words(), commands, 1 if quick else ROUNDS[case], folder))
                say(_line(rows[-1]))
    return {"suite": "waiting", "rows": rows}


def _cases(folder: Path) -> dict[str, Callable[[], list[str]]]:
    """By command: what makes its files, and gives its words."""

    def kernel() -> list[str]:
        shutil.copytree(EXAMPLE, folder / "kernel")
        launch = folder / "kernel" / "fixed.toml"
        launch.write_text((folder / "kernel" / "launch.toml").read_text().replace("blur.cl", "blur_fixed.cl"))
        return ["kernel", str(launch.with_name("blur_fixed.cl")), "--launch", str(launch)]

    checks = {f"check {network}": partial(_check, network) for network in ("squeezenet", "resnet50")}
    return {**checks, "kernel": kernel, "run": lambda: ["run", "--", compile_client("one_launch.c", folder)]}


def _check(network: str) -> list[str]:
    return ["check", str(light_model(network))]


def _row(case: str, words: list[str], commands: dict[str, list[str]], rounds: int, folder: Path) -> Row:
    row: Row = {"name": case, "least": {}, "wrong": []}
    for tree in commands:
        _measure(commands[tree], words, folder / "kept" / tree)  # Python keeps bytecode; the driver is compiled
    for _ in range(rounds):
        for tree, command in commands.items():
            cache = folder / "kept" / tree
            _empty(cache, but="driver" if case == "run" else "")  # compiled already, as in an installed wheel
            for column in COLUMNS:
                try:
                    spent = _measure(command, words, cache)
                except subprocess.CalledProcessError as error:
                    row["wrong"].append(f"{tree}: {error.stderr[-300:]}")
                    continue
                least = row["least"].setdefault(tree, {}).setdefault(column, asdict(spent))
                row["least"][tree][column] = {what: min(least[what], seconds) for what, seconds in asdict(spent).items()}
    return row


def _empty(cache: Path, but: str) -> None:
    """Leaves nothing in a cache but one folder: it may hold the paths of its files, and is not moved."""
    for path in cache.iterdir():
        if path.name == but:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _measure(command: list[str], words: list[str], cache: Path) -> Spent:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["ADRENO_SIM_CACHE_DIR"] = str(cache)
    if command[0] == sys.executable:
        environment["PYTHONPATH"] = import_path()
    with counting() as spent:
        subprocess.run([*command, *words], env=environment, check=True, capture_output=True, text=True)
    return spent


def _line(row: Row) -> str:
    figures = ", ".join(
        f"{tree} {column} {spent['wall']:.2f} s ({spent['processor']:.2f})"
        for tree, columns in row["least"].items()
        for column, spent in columns.items()
    )
    return f"{row['name']:16} {figures}" + "".join(f" WRONG: {text}" for text in row["wrong"])


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    heads = ["command", "", "before s", "s", "ratio", "before processor s", "processor s", "ratio", "wanted"]
    cells = [_cells(row, column) for row in result["rows"] for column in COLUMNS]
    return ["## Waiting", "", _METHOD, "", *table(heads, cells), "", *list_wrong(result["rows"], "name")]


def _cells(row: Row, column: str) -> list[str]:
    before, this = (row["least"].get(tree, {}).get(column, {}) for tree in ("before", "this"))
    cells = [row["name"], column]
    for what in ("wall", "processor"):
        pair = [before.get(what), this.get(what)]
        ratio = f"{pair[1] / pair[0]:.2f}" if pair[0] and pair[1] else ""
        cells += [*("" if seconds is None else f"{seconds:.2f}" for seconds in pair), ratio]
    what, goal = GOALS.get((row["name"], column), ("", None))
    return [*cells, "" if goal is None else f"{what} {goal}"]


_METHOD = (
    "What somebody waits for, with the start of all processes: the fastest of all rounds, in which the checkout from before this "
    "round of work and this one take turns. First: an empty cache (for `run` the driver alone is compiled); second: "
    "the same once more. `check`: a network in textures. `kernel`: the repaired blur of `examples/kernel`. `run`: a program in C "
    "with one launch (`driver/one_launch.c`). Wanted: the ratio that was asked for."
)


def exit_code(result: dict[str, Any]) -> int:
    """1 where a command failed."""
    return int(any(row["wrong"] for row in result["rows"]))
