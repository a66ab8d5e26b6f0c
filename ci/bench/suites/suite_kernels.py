"""Kernel suite: every case of cases.py on PoCL and on the simulator at each level of checks, in turn; all but the large ones on
Oclgrind as well.

Results are compared before a time counts: the levels must agree in every bit, and with PoCL within the case's tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from cases import Case, choose_cases
from children import CHECKED, YARDSTICK, Child, ChildError, opened
from measure import COUNTS, ROUNDS, geometric_mean, interleaved

SLOW = "oclgrind"
SLOW_SECONDS = 60.0
SLOW_SIZES = ("small", "medium")
SHORT = "launches below 1 ms"
RATIOS = {
    "unchecked / PoCL": ("unchecked", YARDSTICK),
    "bounds / PoCL": ("bounds", YARDSTICK),
    "bounds / unchecked": ("bounds", "unchecked"),
    "full / unchecked": ("full", "unchecked"),
    "Oclgrind / full": (SLOW, "full"),
    "Oclgrind / bounds": (SLOW, "bounds"),
}

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the cases whose name holds `only`; `quick`: float alone, no large ones, few rounds, no Oclgrind.

    Ratios are of each column's `statistic`: "median" or "least".
    """
    columns = [YARDSTICK, *CHECKED, *([] if quick else [SLOW])]
    with opened(columns) as (children, missing):
        rows = [_row(case, children, missing, 4 if quick else ROUNDS, statistic, say) for case in choose_cases(only, quick)]
    return {"suite": "kernels", "missing": missing, "rows": rows, "means": means(rows)}


def _row(
    case: Case, children: dict[str, Child], missing: dict[str, str], rounds: int, statistic: str, say: Callable[[str], None]
) -> Row:
    row: Row = {"name": case.name, "kernel": case.kernel, "dtype": case.dtype, "size": case.size}
    row |= {"memory": "image" if case.uses_images else "buffer", "tolerance": case.tolerance, "failed": {}, "refused": {}}
    ready, outputs = _load(case, children, missing, row)
    _compare(case, outputs, row)
    samples, failed = interleaved({name: child for name, child in ready.items() if name != SLOW}, rounds)
    row["failed"] |= failed
    row["seconds"] = {name: taken.to_json() for name, taken in samples.items()}
    if SLOW in ready:
        row["seconds"][SLOW] = dict.fromkeys(("median", "least"), row["first"][SLOW]) | {"spread": 0.0, "samples": 1}
    row["ratios"] = {name: _ratio(row["seconds"], *pair, statistic) for name, pair in RATIOS.items()}
    if not (yardstick := row["seconds"].get(YARDSTICK)):
        missing.setdefault(YARDSTICK, row["failed"].get(YARDSTICK, "not installed"))
    row["counts"] = bool(yardstick) and yardstick["median"] >= COUNTS and not row["wrong"]
    say(_line(row))
    return row


def _load(
    case: Case, children: dict[str, Child], missing: dict[str, str], row: Row
) -> tuple[dict[str, Child], dict[str, list[np.ndarray]]]:
    """Put the case on every device: those that hold it now, and what each computed. A level that is refused goes missing."""
    ready, outputs = {}, {}
    row["build"], row["first"] = {}, {}
    for name, child in list(children.items()):
        if name == SLOW and (case.size not in SLOW_SIZES or case.dtype != "float"):
            continue
        try:
            times = child.call("load", case, timeout=SLOW_SECONDS if name == SLOW else 300.0)
            outputs[name] = child.call("outputs")
        except ChildError as error:
            if "unsupported: checks=" in str(error):
                missing[name] = str(error)
                children.pop(name).close()
            else:
                row["refused" if "CL_INVALID_IMAGE_SIZE" in str(error) else "failed"][name] = str(error)
            continue
        ready[name] = child
        row["build"][name], row["first"][name] = times["build"], times["first"]
    return ready, outputs


def _compare(case: Case, outputs: dict[str, list[np.ndarray]], row: Row) -> None:
    """Errors against the yardstick by column (`error_of`), and what is wrong with them."""
    row["error"], row["wrong"] = {}, []
    reference = outputs.get(YARDSTICK)
    for name, arrays in outputs.items():
        if reference is not None and name != YARDSTICK:
            row["error"][name] = max(map(error_of, arrays, reference))
            if not row["error"][name] <= case.tolerance:
                row["wrong"].append(f"{name} differs from {YARDSTICK} by {row['error'][name]:.1e} of a value or the rms")
        if name in CHECKED and "unchecked" in outputs and not all(map(np.array_equal, arrays, outputs["unchecked"])):
            row["wrong"].append(f"{name} differs from unchecked")


def error_of(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over what is expected or over its rms, whichever is larger, as `adreno-sim check` judges it.

    Infinite if nothing is expected or something is not a number.
    """
    rms = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    if not rms > 0:
        return math.inf
    largest = float(np.max(np.abs(found - expected) / np.maximum(np.abs(expected), rms), initial=0.0))
    return largest if math.isfinite(largest) else math.inf


def _ratio(seconds: dict[str, dict[str, float]], over: str, under: str, statistic: str) -> float | None:
    return seconds[over][statistic] / seconds[under][statistic] if over in seconds and under in seconds else None


def _line(row: Row) -> str:
    cells = [f"{name} {taken['median'] * 1e3:.3f} ms ±{taken['spread']:.0%}" for name, taken in row["seconds"].items()]
    cells += [f"{name} {value:.2f}" for name, value in row["ratios"].items() if value is not None]
    cells += [f"WRONG: {text}" for text in row["wrong"]]
    cells += [f"{name} {how}: {text}" for how in ("failed", "refused") for name, text in row[how].items()]
    return f"{row['name']:34} {', '.join(cells)}"


def means(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """By part of the suite and ratio: geometric mean, worst value and its case, number of cases that counted.

    A case counts from a millisecond on the yardstick on. Ratios to Oclgrind have a part of cases below that as well.
    """
    rows = list(rows)
    counted = [row for row in rows if row["counts"]]
    parts = {"all": counted}
    for key in ("memory", "dtype"):
        for value in dict.fromkeys(row[key] for row in rows):
            parts[value] = [row for row in counted if row[key] == value]
    table = {part: {name: mean for name in RATIOS if (mean := _mean(name, chosen))} for part, chosen in parts.items()}
    short = [row for row in rows if not row["counts"] and not row["wrong"]]
    return table | {SHORT: {name: mean for name, pair in RATIOS.items() if SLOW in pair and (mean := _mean(name, short))}}


def _mean(ratio: str, rows: list[Row]) -> Row | None:
    values = {row["name"]: row["ratios"][ratio] for row in rows if row["ratios"][ratio]}
    if not values:
        return None
    worst = (min if SLOW in RATIOS[ratio] else max)(values, key=values.__getitem__)
    return {"mean": geometric_mean(values.values()), "worst": values[worst], "case": worst, "count": len(values)}


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    out = ["## Kernels", ""]
    out += [f"No {name}: {why}." for name, why in result["missing"].items()] + [""] * bool(result["missing"])
    out += _mean_table(result["means"])
    wrong = [f"* {row['name']}: {text}" for row in result["rows"] for text in row["wrong"]]
    out += ["", *(["Wrong results, left out of the means:", "", *wrong] if wrong else ["All results agree."]), ""]
    return out + _case_table(result["rows"]) + [""]


def _mean_table(table: dict[str, dict[str, Row]]) -> list[str]:
    out = ["| part | ratio | cases | geometric mean | worst | case |", "|---|---|---|---|---|---|"]
    for part, ratios in table.items():
        for name, mean in ratios.items():
            out.append(f"| {part} | {name} | {mean['count']} | {mean['mean']:.2f} | {mean['worst']:.2f} | {mean['case']} |")
    return out


def _case_table(rows: list[Row]) -> list[str]:
    columns = [name for name in (YARDSTICK, *CHECKED, SLOW) if any(name in row["seconds"] for row in rows)]
    ratios = [name for name, pair in RATIOS.items() if SLOW not in pair and any(row["ratios"][name] for row in rows)]
    heads = ["case", *(f"{name} ms" for name in columns), *ratios, "spread", "error / rms"]
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        seconds = row["seconds"]
        cells = [row["name"] + ("" if row["counts"] else " *")]
        cells += [f"{seconds[name]['median'] * 1e3:.3f}" if name in seconds else "" for name in columns]
        cells += [f"{row['ratios'][name]:.2f}" if row["ratios"][name] else "" for name in ratios]
        cells += [f"{max((taken['spread'] for taken in seconds.values()), default=0):.0%}"]
        cells += [f"{max(row['error'].values(), default=math.nan):.0e}"]
        out.append(f"| {' | '.join(cells)} |")
    return [*out, "", "\\* under a millisecond on PoCL (or wrong): not in the means. Spread: the widest column's quartiles."]


def exit_code(result: dict[str, Any]) -> int:
    """1 where a result was wrong or a device failed."""
    return int(any(row["wrong"] or row["failed"] for row in result["rows"]))
