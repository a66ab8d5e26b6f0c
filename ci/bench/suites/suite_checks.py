"""Check suite: `adreno-sim check` of a network as a user runs it, in new processes: the first, one that compiles the model again,
and one of the model as it was.

A round is one of each, on a cache of its own; a ratio is of the fastest of all rounds. Python keeps its bytecode, as it does of
packages that were installed: a first check that nobody measures writes it.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import ChildError, import_path
from tvm_worker import light_model

NETWORKS = ("squeezenet", "resnet50")
ROUNDS = 3
COLUMNS = ("first", "compiled again", "second")
"""On an empty cache; with kernels and references known, but not the model; with all that the first has kept."""
RATIOS = {"second / first": ("second", "first"), "second / compiled again": ("second", "compiled again")}

CHECK = """
import sys
from adreno_sim.cli.main import main
code = main(["check", sys.argv[1], "--json", sys.argv[2]])
print(f"\\n{code} {'tvm' in sys.modules}")
"""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Check the networks whose name holds `only`; `quick`: squeezenet, one round. statistic: the least counts in any case."""
    rows = []
    for network in NETWORKS[:1] if quick else NETWORKS:
        if only in network:
            rows.append(_row(network, 1 if quick else ROUNDS))
            say(_line(rows[-1]))
    return {"suite": "checks", "missing": {}, "rows": rows}


def _row(network: str, rounds: int) -> Row:
    _warm_up()
    row: Row = {"name": network, "seconds": {column: [] for column in COLUMNS}, "imports TVM": {}, "wrong": []}
    verdicts = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            cache = Path(folder) / "cache"
            for column in COLUMNS:
                if column == "compiled again":
                    shutil.rmtree(cache / "models", ignore_errors=True)
                seconds, row["imports TVM"][column], verdicts[column] = _check(light_model(network), cache, Path(folder))
                row["seconds"][column].append(seconds)
            shutil.rmtree(cache)
            row["wrong"] += [f"{column}: another verdict" for column in COLUMNS if verdicts[column] != verdicts["first"]]
    row["least"] = {column: min(seconds) for column, seconds in row["seconds"].items()}
    row["ratios"] = {name: row["least"][over] / row["least"][under] for name, (over, under) in RATIOS.items()}
    return row


@functools.cache
def _warm_up() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _check(light_model(NETWORKS[0]), Path(folder) / "cache", Path(folder))


def _check(model: Path, cache: Path, folder: Path) -> tuple[float, bool, Any]:
    """Seconds of a check with what its process needs to begin, whether it imported TVM, and its verdict."""
    environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": str(cache)}
    for unwanted in ("ADRENO_SIM_CACHE", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(unwanted, None)
    environment["PYTHONPATH"] = import_path()
    report = folder / "report.json"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(model), str(report)], env=environment, cwd=folder, capture_output=True, text=True
    )
    whole = time.perf_counter() - start
    if done.returncode or not done.stdout:
        raise ChildError(f"check of {model.name}: {done.stderr.strip() or done.returncode}")
    code, imported = done.stdout.splitlines()[-1].split()
    found = json.loads(report.read_text())
    return whole, imported == "True", (code, found["outputs"], found["digests"], found["findings"], found["unchecked"])


def _line(row: Row) -> str:
    cells = [f"{column} {seconds:.2f} s" for column, seconds in row["least"].items()]
    cells += [f"{name} {ratio:.2f}" for name, ratio in row["ratios"].items()]
    cells += [f"imports TVM: {', '.join(column for column, yes in row['imports TVM'].items() if yes)}"]
    return f"{row['name']:12} {', '.join(cells + [f'WRONG: {text}' for text in row['wrong']])}"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Checking again", "", "`adreno-sim check` in a new process, the fastest of all rounds.", ""]
    heads = ["network", *(f"{column} s" for column in COLUMNS), *RATIOS, "imports TVM", "rounds"]
    out += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in result["rows"]:
        cells = [row["name"], *(f"{row['least'][column]:.2f}" for column in COLUMNS)]
        cells += [f"{row['ratios'][name]:.2f}" for name in RATIOS]
        cells += [", ".join(column for column, yes in row["imports TVM"].items() if yes), str(len(row["seconds"]["first"]))]
        out.append(f"| {' | '.join(cells)} |")
    wrong = [f"* {row['name']}: {text}" for row in result["rows"] for text in row["wrong"]]
    return [*out, "", *(["Wrong:", "", *wrong, ""] if wrong else [])]


def exit_code(result: dict[str, Any]) -> int:
    """1 where two checks of one model disagree."""
    return int(any(row["wrong"] for row in result["rows"]))
