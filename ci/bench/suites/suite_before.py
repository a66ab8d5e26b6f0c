"""Before suite: the cases of the kernel suite on an older checkout (ADRENO_SIM_BENCH_BEFORE) and on this one, in turn.

Results must agree in every bit before a time counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, choose_cases
from children import CHECKED, KERNELS, Child, ChildError, device_of
from measure import ROUNDS, geometric_mean, interleaved
from sections import list_wrong, table

from .spent import BEFORE

TREES = ("before", "this")
SHORT = 1e-3
"""Seconds on the older checkout: shorter launches are a part of their own."""

Column = tuple[str, str]
"""A tree and a level."""
Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the cases whose name holds `only`; `quick`: float alone, no large ones, few rounds."""
    if not (before := os.environ.get(BEFORE)):
        return {"suite": "before", "missing": f"{BEFORE} names no older checkout", "rows": []}
    checkouts = {"before": Path(before), "this": None}
    rows = []
    with ExitStack() as stack:
        children = {
            (tree, level): stack.enter_context(closing(Child(KERNELS, device_of(level), checkout=checkouts[tree])))
            for level in CHECKED
            for tree in TREES
        }
        for case in choose_cases(only, quick):
            rows.append(_row(case, children, 4 if quick else 2 * ROUNDS, statistic))
            say(_line(rows[-1]))
    return {"suite": "before", "missing": "", "rows": rows}


def _row(case: Case, children: dict[Column, Child], rounds: int, statistic: str) -> Row:
    row: Row = {"name": case.name, "wrong": [], "seconds": {}}
    outputs: dict[Column, list[np.ndarray]] = {}
    for column, child in children.items():
        try:
            child.call("load", case)
            outputs[column] = child.call("outputs")
        except ChildError as error:
            row["wrong"].append(str(error))
    arrays = list(outputs.values())
    row["wrong"] += [
        f"{' '.join(column)} differs from {' '.join(next(iter(outputs)))}"
        for column, found in outputs.items()
        if not all(np.array_equal(one, other, equal_nan=True) for one, other in zip(found, arrays[0], strict=True))
    ]
    samples, failed = interleaved({column: children[column] for column in outputs}, rounds)
    row["wrong"] += failed.values()
    for (tree, level), taken in samples.items():
        row["seconds"].setdefault(level, {})[tree] = taken.to_json()[statistic]
    row["spread"] = max((taken.spread for taken in samples.values()), default=0.0)
    return row


def _ratio(row: Row, level: str) -> float | None:
    seconds = row["seconds"].get(level, {})
    return seconds["this"] / seconds["before"] if len(seconds) == len(TREES) else None


def _line(row: Row) -> str:
    cells = [f"{level} {ratio:.2f}" for level in CHECKED if (ratio := _ratio(row, level))]
    return f"{row['name']:34} {', '.join(cells)}" + "".join(f" WRONG: {text}" for text in row["wrong"])


def _means(rows: list[Row]) -> Iterator[list[str]]:
    """Cells of the table of means: those of a part of the cases at a level."""
    parts = {
        "launches of a millisecond and more": lambda seconds: seconds >= SHORT,
        "shorter launches": lambda seconds: seconds < SHORT,
    }
    for part, belongs in parts.items():
        for level in CHECKED:
            ratios = {
                row["name"]: ratio
                for row in rows
                if not row["wrong"] and (ratio := _ratio(row, level)) and belongs(row["seconds"][level]["before"])
            }
            if ratios:
                worst = max(ratios, key=ratios.__getitem__)
                mean = geometric_mean(ratios.values())
                yield [part, level, str(len(ratios)), f"{mean:.2f}", f"{ratios[worst]:.2f}", worst]


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    if result["missing"]:
        return ["## Before", "", f"Not measured: {result['missing']}.", ""]
    means = table(["part", "level", "cases", "geometric mean", "worst", "case"], list(_means(result["rows"])))
    heads = ["case", *(f"{tree} {level} ms" for level in CHECKED for tree in TREES), *CHECKED, "spread"]
    cells = [_cells(row) for row in result["rows"]]
    return ["## Before", "", _METHOD, "", *means, "", *list_wrong(result["rows"], "name"), "", *table(heads, cells), ""]


def _cells(row: Row) -> list[str]:
    seconds = [row["seconds"].get(level, {}).get(tree) for level in CHECKED for tree in TREES]
    ratios = [_ratio(row, level) for level in CHECKED]
    cells = [row["name"], *("" if value is None else f"{value * 1e3:.3f}" for value in seconds)]
    return [*cells, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios), f"{row['spread']:.0%}"]


_METHOD = (
    "Times of this checkout over those of the one from before this round of work: the kernel suite's cases at each level of "
    "checks, two threads, each in a process of its own that takes its turn."
)


def exit_code(result: dict[str, Any]) -> int:
    """1 where a result differs or a kernel failed."""
    return int(any(row["wrong"] for row in result["rows"]))
