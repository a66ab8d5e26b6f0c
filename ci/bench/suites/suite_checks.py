"""Check suite: `adreno-sim check` of a network as a user runs it, in new processes: the first, one that compiles the model again,
and one of the model as it was.

A round is one of each, on a separate cache; a ratio is of the fastest of all rounds. Python keeps its bytecode, as it does of
packages that were installed: a first check that nobody measures writes it.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import ask
from sections import list_wrong, table
from tvm_worker import light_model

NETWORKS = ("squeezenet", "resnet50")
ROUNDS = 3
COLUMNS = ("first", "compiled again", "second")
"""On an empty cache; with kernels and references known, but not the model; with all that the first has kept."""
RATIOS = {"second / first": ("second", "first"), "second / compiled again": ("second", "compiled again")}

CHECK = """
import json, sys
from adreno_sim.cli.main import main
code = main(["check", sys.argv[1], "--json", sys.argv[2]])
print("\\n" + json.dumps([code, "tvm" in sys.modules]))
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
    report, unwanted = folder / "report.json", ("ADRENO_SIM_CACHE", "PYTHONDONTWRITEBYTECODE")
    start = time.perf_counter()
    code, imported = ask(["-c", CHECK, str(model), str(report)], folder, unset=unwanted, ADRENO_SIM_CACHE_DIR=str(cache))
    whole = time.perf_counter() - start
    found = json.loads(report.read_text())
    return whole, imported, (code, found["outputs"], found["digests"], found["findings"], found["unchecked"])


def _line(row: Row) -> str:
    cells = [f"{column} {seconds:.2f} s" for column, seconds in row["least"].items()]
    cells += [f"{name} {ratio:.2f}" for name, ratio in row["ratios"].items()]
    cells += [f"imports TVM: {', '.join(column for column, yes in row['imports TVM'].items() if yes)}"]
    return f"{row['name']:12} {', '.join(cells + [f'WRONG: {text}' for text in row['wrong']])}"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Checking again", "", "`adreno-sim check` in a new process, the fastest of all rounds.", ""]
    heads = ["network", *(f"{column} s" for column in COLUMNS), *RATIOS, "imports TVM", "rounds"]
    return [*out, *table(heads, map(_cells, result["rows"])), "", *list_wrong(result["rows"], "name")]


def _cells(row: Row) -> list[str]:
    figures = [*(row["least"][column] for column in COLUMNS), *(row["ratios"][name] for name in RATIOS)]
    imports = ", ".join(column for column, yes in row["imports TVM"].items() if yes)
    return [row["name"], *(f"{figure:.2f}" for figure in figures), imports, str(len(row["seconds"]["first"]))]


def exit_code(result: dict[str, Any]) -> int:
    """1 where two checks of one model disagree."""
    return int(any(row["wrong"] for row in result["rows"]))
