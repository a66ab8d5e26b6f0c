"""Drawn suite: kernels of other projects (ggml, OpenCV, CLBlast, darktable), drawn by a seed before anything is measured.

The four take turns, each with its sources in an order that the seed gives, one kernel of each. Where a launch with guessed
arguments has no finding at level full, the kernel is measured; else the next one is drawn, until there are enough. What is
measured: launches on PoCL and on the simulator, and what both take to compile the kernel (build, and what the first launch takes
beyond others).
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from children import YARDSTICK, Child, ChildError, device_of, opened
from drawn_launch import Drawn
from measure import COUNTS, geometric_mean, interleaved

sys.path.append(str(Path(__file__).parents[3] / "tests" / "kernels"))

WORKER = "drawn_worker.py"
SEED, WANTED, QUICK = 20261123, 100, 8
COLUMNS = (YARDSTICK, "unchecked", "bounds")
MEAN, WORST, COMPILE = 0.3, 1.5, 0.5
"""Wanted: geometric mean and worst of bounds / PoCL, and geometric mean of compiling / PoCL."""
ROUNDS = 6
SECONDS = 20.0
"""That a launch at level full may take."""
ARCHIVES = "ADRENO_SIM_CORPORA"
"""Names the folder that keeps the archives; else they are fetched again."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Draw and measure kernels of sources whose names hold `only`; `quick`: a few."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = list(_draw(Path(os.environ.get(ARCHIVES) or scratch), only))
    wanted, rows, left = QUICK if quick else WANTED, [], Counter[str]()
    judge = Child(WORKER, device_of("full", timeout=SECONDS))
    try:
        with opened(COLUMNS, WORKER) as (children, missing):
            for number, source in enumerate(sources):
                if len(rows) == wanted or missing:
                    break
                row = _row(source, number, judge, children, statistic)
                if "out" in row:
                    left[row["out"]] += 1
                    say(f"{source.name}: left out: {row['why']}")
                else:
                    rows.append(row)
                    say(_line(row))
    finally:
        judge.close()
    return {"suite": "drawn", "missing": missing, "rows": rows, "left": dict(left), "wanted": wanted}


def _draw(folder: Path, only: str) -> Iterator[Any]:
    """Sources of the corpora in turn, each corpus in the order of the seed."""
    from corpora.campaign import gather

    folder.mkdir(parents=True, exist_ok=True)
    by_corpus: dict[str, list[Any]] = {}
    for source in sorted(gather(folder, only), key=lambda source: source.name):
        by_corpus.setdefault(source.corpus, []).append(source)
    for found in by_corpus.values():
        random.Random(SEED).shuffle(found)
    for several in itertools.zip_longest(*by_corpus.values()):
        yield from (source for source in several if source is not None)


def _row(source: Any, number: int, judge: Child, children: dict[str, Child], statistic: str) -> Row:
    try:
        drawn: Drawn | str = judge.call("fit", source.name, source.text, source.options, number)
    except ChildError as error:
        return {"out": "no launch of guessed arguments is clean", "why": str(error)}
    if isinstance(drawn, str):
        kind = "does not build" if drawn.startswith("does not build") else "no launch of guessed arguments is clean"
        return {"out": kind, "why": drawn}
    row: Row = {"name": drawn.name, "corpus": source.corpus, "size": list(drawn.global_size), "build": {}, "first": {}}
    outputs = {}
    for name, child in children.items():
        try:
            times = child.call("load_drawn", drawn)
            outputs[name] = child.call("written")
        except ChildError as error:
            return {"out": f"{'PoCL' if name == YARDSTICK else 'the simulator'} refuses it", "why": str(error)}
        row["build"][name], row["first"][name] = times["build"], times["first"]
    row["differ"] = _differ(outputs)
    samples, failed = interleaved(children, ROUNDS)
    if failed:
        return {"out": "a launch failed", "why": str(failed)}
    row["seconds"] = {name: taken.to_json()[statistic] for name, taken in samples.items()}
    for name in row["build"]:
        row.setdefault("compile", {})[name] = row["build"][name] + max(0.0, row["first"][name] - row["seconds"][name])
    return row


def _differ(outputs: dict[str, list[np.ndarray]]) -> float:
    """The largest share of bytes of one argument in which devices differ: rounding changes low bytes of floats."""
    pairs = zip(outputs[YARDSTICK], outputs["bounds"], strict=True)
    return max((float(np.mean(one != other)) for one, other in pairs if one.size == other.size), default=0.0)


def _line(row: Row) -> str:
    seconds = row["seconds"]
    cells = [f"{name} {taken * 1e3:.3f} ms" for name, taken in seconds.items()]
    cells.append(f"bounds / PoCL {seconds['bounds'] / seconds[YARDSTICK]:.2f}")
    cells.append(f"compile / PoCL {row['compile']['bounds'] / row['compile'][YARDSTICK]:.2f}")
    return f"{row['name']:60} {', '.join(cells)}; {row['differ']:.1%} of bytes differ"


def _ratios(rows: list[Row], key: str, column: str) -> list[float]:
    return [row[key][column] / row[key][YARDSTICK] for row in rows]


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Kernels of other projects", ""]
    out += [f"No {name}: {why}." for name, why in result["missing"].items()]
    rows = result["rows"]
    if not rows or result["missing"]:
        return [*out, ""]
    long = [row for row in rows if row["seconds"][YARDSTICK] >= COUNTS]
    corpora = Counter(row["corpus"] for row in rows)
    left = "; ".join(f"{count}: {why}" for why, count in sorted(result["left"].items(), key=lambda item: -item[1]))
    out += [
        f"{len(rows)} kernels ({', '.join(f'{count} of {name}' for name, count in corpora.items())}), drawn by seed {SEED} "
        f"before anything was measured, with guessed arguments. Left out: {left or 'none'}. Wanted: bounds / PoCL at most "
        f"{MEAN} in the mean and {WORST} each, compiling at most {COMPILE}.",
        "",
        "| kernels | ratio | count | geometric mean | worst | kernel |",
        "|---|---|---|---|---|---|",
    ]
    for what, chosen in (("all", rows), ("from 1 ms on PoCL on", long)):
        for column in ("unchecked", "bounds"):
            out.append(_mean_row(what, f"{column} / PoCL", chosen, "seconds", column))
    out += [_mean_row("all", f"compiling at {column} / PoCL", rows, "compile", column) for column in ("unchecked", "bounds")]
    above = [row for row in rows if row["seconds"]["bounds"] > WORST * row["seconds"][YARDSTICK]]
    told = [f"* {_line(row)}" for row in above]
    return [*out, "", f"{len(above)} above {WORST}{':' if above else '.'}", "", *told, *([""] if told else [])]


def _mean_row(what: str, ratio: str, rows: list[Row], key: str, column: str) -> str:
    if not rows:
        return f"| {what} | {ratio} | 0 | | | |"
    values = _ratios(rows, key, column)
    worst = max(range(len(rows)), key=values.__getitem__)
    return f"| {what} | {ratio} | {len(rows)} | {geometric_mean(values):.2f} | {values[worst]:.2f} | {rows[worst]['name']} |"


def exit_code(result: dict[str, Any]) -> int:
    """1 where fewer kernels than wanted could be measured."""
    return int(len(result["rows"]) < result["wanted"])
