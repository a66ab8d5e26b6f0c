"""Advice about a plan for people: the tensors at its peak with their operators, the best change to each, the command to try."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from ..console import open_console, teller
from ..table import Column, figure_column, print_table

if TYPE_CHECKING:
    from ...compiler.plan.advice.advice import Advice, PeakTensor
    from ...compiler.plan.footprint import Footprint

MOST_TENSORS = 8
"""Tensors that are listed; the others are counted."""

LONGEST = 44
"""Most characters of a tensor's producer or reader."""


def show(footprint: Footprint, file: IO[str]) -> None:
    """Print the advice of a footprint that has some."""
    advice = footprint.advice
    if advice is None or not advice.tensors:
        return
    console = open_console(file)
    say = teller(console)
    say(title_of(advice))
    print_table(console, _columns(), advice.tensors[:MOST_TENSORS])
    rest = len(advice.tensors) - MOST_TENSORS + advice.left_out
    if rest > 0:
        say(f"{rest} more tensors at the peak (--json has the largest)")
    say("next: " + ": ".join(filter(None, (next_command(footprint), next_result(footprint)))))


def title_of(advice: Advice) -> str:
    """What the list of tensors is, and what its savings are measured by."""
    return (
        f"tensors at the peak, instruction {advice.when}; savings: all tensors placed again by {advice.planner} "
        f"({advice.base:,} bytes without a change)"
    )


def next_command(footprint: Footprint) -> str:
    """The command to try next; "" if no planner takes less than the plan as compiled."""
    return str(footprint.next_step().get("command", ""))


def next_result(footprint: Footprint) -> str:
    """What the next thing to try takes; where no planner takes less than as compiled, the best change to a tensor."""
    step = footprint.next_step()
    if step:
        compiled = footprint.rows[0].total
        less = f"{step['total']:,} bytes planned, not {compiled:,} ({step['saves'] / compiled:.1%} less){_peak_words(step)}"
        return less if footprint.command else f"planner {step['planner']}, {less}"
    best = footprint.advice.tensors[0].best if footprint.advice is not None and footprint.advice.tensors else None
    if best is None:
        return "no planner and no change to one tensor takes less than the plan as compiled"
    return f"no planner takes less than the plan as compiled; {best.text}: {best.saves:,} bytes less"


def _peak_words(step: dict[str, Any]) -> str:
    """What a plan does to the peak of a run, which holds inputs and constants too."""
    if "peak" not in step:
        return ""
    peak, before = step["peak"], step["peak_before"]
    if peak == before:
        return f"; the peak of a run stays {before:,} bytes"
    change = "less" if peak < before else "more"
    return f"; the peak of a run is {peak:,} bytes, not {before:,} ({abs(before - peak) / before:.1%} {change})"


def describe_best(tensor: PeakTensor) -> str:
    """The change that saves most, and how much."""
    return f"{tensor.best.kind}: {tensor.best.saves:,}" if tensor.best else "none alone"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _columns() -> list[Column[PeakTensor]]:
    return [
        figure_column("bytes", lambda tensor: f"{tensor.size:,}"),
        Column("made by", lambda tensor: _shorten(tensor.producer or tensor.id)),
        Column("last read by", lambda tensor: _shorten(tensor.reader or "nothing")),
        Column("what saves most", describe_best),
    ]
