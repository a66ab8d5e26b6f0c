"""Counts over the runs of a campaign, and the tables that are printed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .campaign import Run
from .problem import ORDERS

LEAST_FOUND = 0.99
"""Share of detectable defects that must be found."""


@dataclass
class Power:
    """Detectable defects, and how many were missed by the bound alone and together with the rerun."""

    detectable: int = 0
    missed_by_bound: int = 0
    missed: int = 0

    def add(self, run: Run) -> None:
        if run.detectable:
            self.detectable += 1
            self.missed_by_bound += not run.by_bound
            self.missed += not run.found

    def to_json(self) -> dict[str, int]:
        return dict(vars(self))


@dataclass
class Spread:
    """Root mean square and largest of z-scores."""

    count: int = 0
    squares: float = 0.0
    largest: float = 0.0

    def add(self, z: np.ndarray) -> None:
        self.count += z.size
        self.squares += float(np.square(z).sum())
        self.largest = max(self.largest, float(np.abs(z).max(initial=0.0)))

    @property
    def rms(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def to_json(self) -> dict[str, float]:
        return {"count": self.count, "rms": self.rms, "largest": self.largest}


@dataclass
class Tally:
    """Counts of one campaign. rounding: warnings that right results round more than expected. vague: right results that tell
    nothing; unseen: defects that change nothing. alarms, misses, without_rerun: in words. helper: what finds defects beside the
    bound."""

    helper: str = "the rerun"
    runs: int = 0
    rounding: int = 0
    vague: int = 0
    unseen: int = 0
    total: Power = field(default_factory=Power)
    alarms: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    without_rerun: list[str] = field(default_factory=list)
    by_terms: dict[tuple[str, int], Power] = field(default_factory=lambda: defaultdict(Power))
    by_sign: dict[tuple[str, str, str], Power] = field(default_factory=lambda: defaultdict(Power))
    by_defect: dict[tuple[str, str], Power] = field(default_factory=lambda: defaultdict(Power))
    by_family: dict[tuple[str, str], Power] = field(default_factory=lambda: defaultdict(Power))
    z: dict[tuple[str, str, str], Spread] = field(default_factory=lambda: defaultdict(Spread))

    def add(self, run: Run) -> None:
        self.runs += 1
        self.rounding += run.rounding
        self.vague += run.vague
        self.unseen += run.moved == 0
        type, order = run.problem.type, run.problem.order
        keys: list[tuple[dict[Any, Power], Any]] = [
            (self.by_terms, (type, size_of(run.problem.terms))),
            (self.by_sign, (type, order, run.sign)),
            (self.by_defect, (type, run.planted.kind.title)),
            (self.by_family, (type, run.problem.family)),
        ]
        for powers, key in keys:
            powers[key].add(run)
        self.total.add(run)
        self.z[type, order, run.sign].add(run.z)
        if type == "half":
            self.z["half in floats", order, run.sign].add(run.wide_z)
        what = f"{run.problem.name}, {run.sign}"
        if run.no_rerun:
            self.without_rerun.append(f"{what}: {run.no_rerun}")
        if run.alarm:
            self.alarms.append(what)
        if run.detectable and not run.found:
            where = "all outputs" if run.planted.where < 0 else f"output {run.planted.where}"
            self.misses.append(
                f"{what}: {run.planted.kind.title} at {run.planted.at} of {where}, which moves by {run.moved:.3g} "
                f"({run.moved / run.noise if run.noise else math.inf:.1f} x the right kernel's error)"
            )

    @property
    def is_as_required(self) -> bool:
        return not self.alarms and self.total.missed <= (1 - LEAST_FOUND) * self.total.detectable

    def to_json(self) -> dict[str, Any]:
        tables = {name: getattr(self, name) for name in ("by_terms", "by_sign", "by_defect", "by_family", "z")}
        return {
            "runs": self.runs, "rounding": self.rounding, "vague": self.vague, "unseen": self.unseen,
            "alarms": self.alarms, "misses": self.misses, "without_rerun": self.without_rerun, "total": self.total.to_json(),
            **{name: {", ".join(map(str, key)): row.to_json() for key, row in table.items()} for name, table in tables.items()},
        }  # fmt: skip


def size_of(terms: int) -> int:
    """The power of four that is nearest: convolutions have nine terms for each channel."""
    return int(4 ** max(2, round(math.log(terms, 4))))


def tally_runs(runs: Iterable[Run], helper: str = Tally.helper) -> Tally:
    tally = Tally(helper)
    for run in runs:
        tally.add(run)
    return tally


def lines_of(tally: Tally) -> list[str]:
    """Tables for people, in Markdown."""
    total = tally.total
    share = 1 - total.missed / total.detectable if total.detectable else 1.0
    lines = [
        f"{tally.runs} right runs: {len(tally.alarms)} false alarms, {tally.rounding} warnings of large rounding "
        f"({tally.vague} results that tell nothing).",
        f"{tally.runs} defects: {tally.unseen} change nothing, {total.detectable} are detectable; of these "
        f"{total.detectable - total.missed_by_bound} are found by the bound alone, "
        f"{total.detectable - total.missed} ({100 * share:.2f}%) with {tally.helper}.",
        "",
    ]
    sizes = sorted({size for _, size in tally.by_terms})
    lines += _powers(tally.helper, "K", [("", size) for size in sizes], lambda type, key: tally.by_terms[type, key[1]])
    kinds = sorted({(order, sign) for _, order, sign in tally.by_sign}, key=lambda key: (ORDERS.index(key[0]), key[1]))
    lines += _powers(tally.helper, "order, inputs", kinds, lambda type, key: tally.by_sign[(type, *key)])
    titles = list(dict.fromkeys(title for _, title in tally.by_defect))
    lines += _powers(tally.helper, "defect", [("", title) for title in titles], lambda type, key: tally.by_defect[type, key[1]])
    families = list(dict.fromkeys(name for _, name in tally.by_family))
    lines += _powers(tally.helper, "kernel", [("", name) for name in families], lambda type, key: tally.by_family[type, key[1]])
    lines += ["| right runs: error over sigma | rms | largest |", "|---|---|---|"]
    lines += [f"| {', '.join(key)} | {row.rms:.2f} | {row.largest:.1f} |" for key, row in sorted(tally.z.items())]
    for title, found in (("False alarms", tally.alarms), ("Missed", tally.misses), ("No rerun", tally.without_rerun)):
        if found:
            lines += ["", f"{title}:", *(f"- {text}" for text in found[:40])]
            lines += [f"- and {len(found) - 40} more"] if len(found) > 40 else []
    return lines


def _powers(helper: str, title: str, keys: Sequence[tuple[Any, Any]], power_of: Callable[[str, Any], Power]) -> list[str]:
    lines = [
        f"| {title} | half: detectable | missed by the bound alone | missed with {helper} | float: detectable | "
        f"missed by the bound alone | missed with {helper} |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in keys:
        half, single = power_of("half", key), power_of("float", key)
        name = ", ".join(str(part) for part in key if part != "")
        lines.append(
            f"| {name} | {half.detectable} | {_rate(half.missed_by_bound, half)} | {_rate(half.missed, half)} | "
            f"{single.detectable} | {_rate(single.missed_by_bound, single)} | {_rate(single.missed, single)} |"
        )
    return [*lines, ""]


def _rate(missed: int, power: Power) -> str:
    return f"{100 * missed / power.detectable:.1f}%" if power.detectable else "-"
