"""Text on the memory of the tensors of subgraphs for OpenCL ML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...compiler.plan.graphs import GraphPlan

MOST = 24
"""Tensors of a graph that are listed; the others are counted."""


def lines(plans: Sequence[GraphPlan]) -> Iterator[str]:
    """A line for each graph, and one for each of its tensors."""
    for found in plans:
        plan = found.plan
        yield f"{found.name}: {summary(found)}"
        for location in plan.locations[:MOST]:
            where = f"on-chip at {location.at:,}" if location.memory == "on-chip" else f"device buffer {location.at}"
            living = f"live {location.first} to {location.last}"
            yield f"  {location.node:4} {found.tensor(location):20} {location.nbytes:12,} bytes  {where:22} {living}"
        if len(plan.locations) > MOST:
            yield f"  {len(plan.locations) - MOST} more tensors (--json has them all)"


def summary(found: GraphPlan) -> str:
    """On-chip and device bytes of a graph."""
    plan = found.plan
    short = f"; no room for {plan.rejected:,}, for {plan.fragmented:,} not in one piece" if plan.rejected else ""
    return (
        f"on-chip {plan.on_chip_peak:,} of {plan.on_chip_size:,} bytes at the peak, {plan.on_chip:,} bytes of tensors there; "
        f"device buffers {plan.device:,}{short}"
    )
