"""Golden memory plans: what each planner took for a network on a device, and whether it takes more now.

The files in `plans` hold one network's plan each (adreno-sim/plan/1), and figures.json the bytes of every planner on it. A
planner that follows another's rules must take exactly as much; one that searches may take less, and no more than allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adreno_sim.compiler.plan.footprint import Footprint

FOLDER = Path(__file__).parents[1] / "golden" / "plans"

SEARCHING = ("arena", "optimal")
"""Planners that may become better."""


def figures(footprint: Footprint) -> dict[str, Any]:
    """The recorded figures of a footprint: the live lower bound, and bytes for each planner that gave a plan."""
    planners = {row.planner: row.total for row in footprint.rows if not row.skipped}
    return {"tensors": len(footprint.problem.items), "lower_bound": footprint.problem.lower_bound(), "planners": planners}


def regressions(stored: Mapping[str, Any], found: Mapping[str, Any], peak: float = 0.0) -> list[str]:
    """What is worse than stored, or not as it must be; one sentence each.

    peak: fraction by which a searching planner's bytes may grow. A changed set of tensors or bound is a change of the
    model or of the rules, which the stored figures say nothing about: it is named, and nothing else compared.
    """
    for key in ("tensors", "lower_bound"):
        if stored[key] != found[key]:
            return [f"{key} was {stored[key]:,}, is {found[key]:,}"]
    sentences = []
    for planner, before in stored["planners"].items():
        now = found["planners"].get(planner)
        if now is None:
            sentences.append(f"{planner} took {before:,} bytes, gives no plan now")
        elif planner not in SEARCHING and now != before:
            sentences.append(f"{planner} took {before:,} bytes, takes {now:,}: its rules say exactly how much")
        elif now > before * (1 + peak):
            sentences.append(f"{planner} took {before:,} bytes, takes {now:,} (allowed: {before * (1 + peak):,.0f})")
    return sentences
